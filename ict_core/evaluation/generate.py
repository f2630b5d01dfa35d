"""All completions of one cell: every benchmark, n samples per problem, one engine, and a cache of earlier samples.

The cache is keyed by prompt and seed, with a folder for each checkpoint, engine and setting. A part is a Parquet file
of completions that never changes once written. Its name is the hash of its bytes, so that any number of jobs may write
into one folder, and a damaged part cannot pass for an intact one.
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

from ict_core.errors import TooMuch, UserError
from ict_core.evaluation.engine import Completion, Engine, Request, Sampling, engine_version
from ict_core.process.machine import this_hardware
from ict_core.seeding import derive_seed
from ict_core.store import records
from ict_core.store.code import fingerprint
from ict_core.store.files import hash_file, hash_tree, hash_weights
from ict_core.store.layout import MANIFEST

_COMPLETION = [field.name for field in dataclasses.fields(Completion)]
_SCHEMA = {"prompt": "str", "seed": "int", **{name: records.SAMPLED[name] for name in _COMPLETION}}
_PART_SECONDS = 15.0  # between two parts: what a killed job may have to sample again
_ABANDONED_SECONDS = 3600.0  # after which a part without its name is of a job that was killed


def stop_token_ids(model: Path) -> tuple[int, ...]:
    """The stop ids that a checkpoint's generation config names.

    Raises:
        UserError: it names none; sampling would only ever end at the token limit.
    """
    file = model / "generation_config.json"
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise UserError(f"{file}: no such file; the checkpoint must name its stop ids there") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: not JSON ({error}); make or fetch the checkpoint again") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: not a mapping; make or fetch the checkpoint again")
    ids = content.get("eos_token_id")
    if not (listed := ids if isinstance(ids, list) else [ids]) or not all(type(i) is int for i in listed):
        raise UserError(f"{file}: eos_token_id names no stop id; a number or a list of numbers is needed")
    return tuple(listed)


def generate(
    engine: Engine, problems: pd.DataFrame, samples: Mapping[str, int], seed: int, sampling: Sampling
) -> pd.DataFrame:
    """Sample completions of every problem: ``records.SAMPLED``, with the samples of a problem together.

    ``samples`` has n of each benchmark. A completion's seed is derived from the cell's seed, the problem and the sample
    index, so that it changes neither with n nor with the other benchmarks.
    """
    rows, requests = [], []
    for benchmark, problem, prompt in problems[["benchmark", "problem", "prompt"]].itertuples(index=False):
        for sample in range(samples[benchmark]):
            completion_seed = derive_seed(seed, "evaluation", benchmark, problem, sample)
            rows.append((benchmark, problem, sample, completion_seed))
            requests.append(Request(prompt, completion_seed))
    frame = pd.DataFrame(rows, columns=["benchmark", "problem", "sample", "seed"])
    sampled = pd.DataFrame(engine.sample(requests, sampling))
    return frame.join(sampled.assign(ids=records.listed(sampled["ids"])))


def context_length(model: Path, problems: pd.DataFrame, max_new_tokens: int) -> int:
    """The longest prompt plus completion that these problems need, in tokens.

    Raises:
        TooMuch: it is more than the checkpoint's config allows; the problem is named.
    """
    from ict_core.models.read import read_config, read_tokenizer

    limit = getattr(read_config(model).get_text_config(), "max_position_embeddings", None)
    if not isinstance(limit, int):
        raise UserError(f"{model / 'config.json'}: max_position_embeddings: {limit!r}; a whole number is needed")
    lengths = [len(ids) for ids in read_tokenizer(model)(problems["prompt"].tolist())["input_ids"]]
    longest = max(lengths)
    if longest + max_new_tokens > limit:
        row = problems.iloc[lengths.index(longest)]
        raise TooMuch(
            f"{row['benchmark']}, problem {row['problem']}: a prompt of {longest} tokens and "
            f"max_new_tokens: {max_new_tokens} are more than the {limit} tokens that the model can hold",
            limit - longest,
        )
    return longest + max_new_tokens


def sampler_settings(name: str, checkpoint: Path, threads: int, dtype: str) -> dict[str, Any]:
    """Everything that an engine's completion depends on, besides its prompt, its seed and the :class:`Sampling`.

    The checkpoint's weights, configuration and tokenizer count.
    """
    import torch  # noqa: F401 - else the GPU is not among the hardware

    others = [file for file in checkpoint.iterdir() if file.suffix in (".json", ".model", ".txt")]
    return {
        "model_sha256": hash_weights(checkpoint),
        "other_files_sha256": hash_tree(file for file in others if file.name != MANIFEST),
        "engine": name,
        "engine_version": engine_version(name),
        "torch_version": version("torch"),  # it says for which device torch was built
        "code": fingerprint("evaluation.engine"),
        "threads": threads,
        "hardware": this_hardware(),
        "dtype": dtype,
    }


class CachedEngine(Engine):
    """An engine that samples what is in no part, and writes it into new parts.

    ``load`` is called when something has to be sampled. ``folder`` contains all caches and may be deleted at any time.
    ``settings`` are :func:`sampler_settings`.
    """

    def __init__(self, load: Callable[[], Engine], folder: Path, settings: Mapping[str, Any]) -> None:
        self.reused: list[Completion] = []  # from parts, in all calls
        self._load = load
        self._engine: Engine | None = None
        self._folder = folder
        self._settings = settings

    def settings(self, sampling: Sampling) -> dict[str, Any] | None:
        """See :class:`Engine`; None if all was reused."""
        return None if self._engine is None else self._engine.settings(sampling)

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, Completion]]:
        """See :class:`Engine`; stored completions come first."""
        settings = {**self._settings, "sampling": dataclasses.asdict(sampling)}
        folder = self._folder / hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]
        stored = _stored(folder)
        new = []
        for position, request in enumerate(requests):
            if request in stored:
                self.reused.append(stored[request])
                yield position, stored[request]
            else:
                new.append(position)
        if not new:
            return
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
        finally:  # also if the engine dies or is interrupted
            _write(folder, part)


def _write(folder: Path, part: Mapping[Request, Completion]) -> None:
    if not part:
        return
    rows = pd.DataFrame(
        [dataclasses.asdict(request) | dataclasses.asdict(sampled) for request, sampled in part.items()]
    )
    unnamed = folder / f"{secrets.token_hex(8)}.unnamed"  # a name that no other job writes
    records.write_frame(rows.assign(ids=records.listed(rows["ids"])), unnamed, _SCHEMA)
    unnamed.replace(folder / f"{hash_file(unnamed)}.parquet")


def _stored(folder: Path) -> dict[Request, Completion]:
    """The completions in all intact parts; a damaged part is set aside, and what a killed job left is removed."""
    for left in folder.glob("*.unnamed*"):
        with contextlib.suppress(FileNotFoundError):  # another job named or removed it
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                left.unlink()
    stored: dict[Request, Completion] = {}
    for path in sorted(folder.glob("*.parquet")):
        try:
            if hash_file(path) != path.stem:
                raise UserError(f"{path}: its bytes are not those that were written")
            frame = records.read_frame(path, _SCHEMA)
        except FileNotFoundError:  # deleted, or set aside by another job
            continue
        except (UserError, IsADirectoryError) as error:
            print(f"{error}; set aside as .damaged, its completions are sampled again", file=sys.stderr)
            with contextlib.suppress(FileNotFoundError):
                path.rename(path.with_suffix(".damaged"))
            continue
        frame["ids"] = records.unlisted(frame["ids"])
        for prompt, seed, *completion in frame[["prompt", "seed", *_COMPLETION]].itertuples(index=False):
            stored[Request(prompt, seed)] = Completion(*completion)
    return stored
