"""Completions that were sampled before, by prompt and seed: a folder for each checkpoint, engine and setting.

A part is a Parquet file that holds what was sampled in a while and that nobody changes. Its name is the hash of its
bytes, so that any number of jobs may write into one folder, and what is damaged cannot pass for whole.
"""

import contextlib
import dataclasses
import hashlib
import json
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.errors import UserError
from ict_core.evaluation._engine import Completion, Engine, Request, Sampling, engine_version
from ict_core.process import this_hardware
from ict_core.store import MANIFEST, fingerprint, hash_file, hash_tree, hash_weights, records, write_json

_COMPLETION = [field.name for field in dataclasses.fields(Completion)]
_SCHEMA = {"prompt": "str", "seed": "int", **{name: records.COMPLETIONS[name] for name in _COMPLETION}}
_PART_SECONDS = 15.0  # between two parts: what a killed job has to sample again


def sampler_settings(name: str, checkpoint: Path, threads: int, dtype: str) -> dict[str, Any]:
    """All that a completion of an engine depends on beside its prompt, its seed and the :class:`Sampling`.

    Of the checkpoint's folder count weights, configuration and tokenizer.
    """
    others = [file for file in checkpoint.iterdir() if file.suffix in (".json", ".model", ".txt")]
    return {
        "model_sha256": hash_weights(checkpoint),
        "other_files_sha256": hash_tree(file for file in others if file.name != MANIFEST),
        "engine": name,
        "engine_version": engine_version(name),
        "torch_version": version("torch"),  # it says for which device torch was built
        "code": fingerprint("evaluation._engine"),
        "threads": threads,
        "hardware": this_hardware(),
        "dtype": dtype,
    }


class CachedEngine(Engine):
    """An engine that samples what no part holds, and leaves it in new parts.

    ``load`` is called when something has to be sampled; ``folder``, of all caches, may be deleted at any time;
    ``settings`` are :func:`sampler_settings`.
    """

    def __init__(self, load: Callable[[], Engine], folder: Path, settings: Mapping[str, Any]) -> None:
        self.name = settings["engine"]
        self.reused: list[Completion] = []  # from parts, by all calls
        self._load = load
        self._engine: Engine | None = None
        self._folder = folder
        self._settings = settings

    def settings(self, sampling: Sampling) -> dict[str, Any] | None:
        """See :class:`Engine`; None where all was reused."""
        return None if self._engine is None else self._engine.settings(sampling)

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, Completion]]:
        """See :class:`Engine`; what is stored comes first."""
        settings = {**self._settings, "sampling": dataclasses.asdict(sampling)}
        folder = self._folder / hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]
        stored = _read(folder)
        new = []
        for position, request in enumerate(requests):
            if request in stored:
                self.reused.append(stored[request])
                yield position, stored[request]
            else:
                new.append(position)
        if not new:
            return
        unnamed = _unnamed(folder)
        write_json(unnamed, settings)
        unnamed.replace(folder / "settings.json")  # for a reader of the folder
        self._engine = self._engine or self._load()
        part: dict[Request, Completion] = {}
        begun = time.monotonic()
        try:
            for index, completion in self._engine.stream([requests[position] for position in new], sampling):
                part[requests[new[index]]] = completion
                if time.monotonic() - begun >= _PART_SECONDS:
                    _write(folder, part)
                    part, begun = {}, time.monotonic()
                yield new[index], completion
        finally:  # an engine that dies and an interrupt included
            _write(folder, part)


def _unnamed(folder: Path) -> Path:
    """A file that no other job writes, to be renamed when it is whole."""
    return folder / f"{secrets.token_hex(8)}.unnamed"


def _write(folder: Path, part: Mapping[Request, Completion]) -> None:
    if not part:
        return
    rows = [dataclasses.asdict(request) | dataclasses.asdict(completion) for request, completion in part.items()]
    unnamed = _unnamed(folder)
    records.write_frame(pd.DataFrame(rows), unnamed, _SCHEMA)
    unnamed.replace(folder / f"{hash_file(unnamed)}.parquet")


def _read(folder: Path) -> dict[Request, Completion]:
    """What all whole parts hold; one that is not whole is named and set aside."""
    stored: dict[Request, Completion] = {}
    for path in sorted(folder.glob("*.parquet")):
        try:
            if hash_file(path) != path.stem:
                raise UserError(f"{path}: its bytes are not those that were written")
            frame = records.read_frame(path, _SCHEMA)
        except FileNotFoundError:  # deleted, or set aside by another job
            continue
        except UserError as error:
            print(f"{error}; set aside as .damaged, its completions are sampled again", file=sys.stderr)
            with contextlib.suppress(FileNotFoundError):
                path.rename(path.with_suffix(".damaged"))
            continue
        for prompt, seed, *completion in frame[["prompt", "seed", *_COMPLETION]].itertuples(index=False):
            stored[Request(prompt, seed)] = Completion(*completion)
    return stored
