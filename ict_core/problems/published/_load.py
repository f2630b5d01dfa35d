"""Fetches a published set through `datasets`, from the hub or from a mirror folder: the same problems either way."""

import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
from huggingface_hub import get_token

from ict_core.config import READERS, PublishedSet
from ict_core.errors import Transient, UserError
from ict_core.grading import LETTERS, refusal
from ict_core.problems.published._item import Item, Read, distinct, items_hash
from ict_core.process.failures import DISK_ERRORS, lost_connection
from ict_core.seeding import generator
from ict_core.store import records

_FAILURES = (OSError, ValueError, datasets.exceptions.DatasetsError)  # the hub's own errors are OSErrors
_MEND = "the data set was changed: pin the revision that has these rows, or look at the change and state the new value"
_PLACE = re.compile(r"\{(question|options)\}")


def check_access(sets: Iterable[PublishedSet], mirror: Path | None) -> None:
    """Tell what is missing before any of the sets is downloaded.

    Args:
        mirror: a folder of `OWNER/NAME/CONFIG/SPLIT.jsonl` (`default` for an unnamed config), or None for the hub.

    Raises:
        UserError: the mirror is no folder, or a gated set is to come from the hub and there is no token for it.
    """
    if mirror is not None:
        if not mirror.is_dir():
            raise UserError(f"data.mirror: {mirror} is no folder; allowed: one of OWNER/NAME/CONFIG/SPLIT.jsonl")
        return
    for published in sets:
        if published.gated and not get_token():
            raise UserError(
                f"{published.file}: {published.hub} is gated and HF_TOKEN is not set; accept its licence "
                f"({published.licence}) at https://huggingface.co/datasets/{published.hub} and set HF_TOKEN to a token "
                "of that account, or name a data.mirror that has it"
            )


def load_items(published: PublishedSet, mirror: Path | None) -> list[Item]:
    """All problems of a set in order of their ids, checked against its YAML file; `mirror` as in :func:`check_access`.

    Raises:
        UserError: the rows cannot be had, lack a column, are not as published, or differ from the row count or the
            content hash that the file states.
    """
    read = _reader(published.reader)
    items: list[Item] = []
    for config in published.configs:
        origin, rows = _hub_rows(published, config) if mirror is None else _mirror_rows(published, config, mirror)
        for number, row in enumerate(rows, start=1):
            try:
                item = read(row)
            except ValueError as error:
                raise UserError(f"{published.file}: row {number} of {origin}: {error}") from error
            if item is not None:
                items.append(item)
    whole = published.hub if mirror is None else f"the mirror {mirror}"
    try:
        items = distinct(items)
    except ValueError as error:
        raise UserError(f"{published.file}: {whole}: {error}") from error
    _check_content(published, items, whole)
    return items


def _check_content(published: PublishedSet, items: Sequence[Item], origin: str) -> None:
    """Hold all problems that were read against what the set's file states: a changed set is an error, not a surprise.

    Row count, the answers' form and the content hash (which a gated set may leave out) are compared; the message names
    the file, the origin, and both values.
    """
    if len(items) != published.rows:
        raise UserError(f"{published.file}: rows: {published.rows} stated, but {origin} has {len(items)}; {_MEND}")
    for item in items:
        has_choices = item.choices is not None
        if refusal(item.answer, published.answer_type) or has_choices != (published.answer_type == "choice"):
            raise UserError(
                f"{published.file}: answer_type: {published.answer_type} does not fit the problem {item.id} of "
                f"{origin}; allowed: the answer type of the reader {published.reader}"
            )
    sha256 = items_hash(items)
    if published.sha256 is not None and sha256 != published.sha256:
        raise UserError(f"{published.file}: sha256: {published.sha256} stated, but {origin} has {sha256}; {_MEND}")


def _reader(name: str) -> Read:
    """The reader that a YAML file names."""
    return import_module(f"ict_core.{READERS[name]}").read


def load_problems(published: PublishedSet, mirror: Path | None, seed: int) -> pd.DataFrame:
    """A set's problems with their prompts, as a frame of ``records.PROBLEMS`` in order of their ids.

    The set's name becomes the column `benchmark`. Where not all rows are used, `seed` and that name draw them.

    Raises:
        UserError: see :func:`load_items`.
    """
    items = load_items(published, mirror)
    if published.drawn < len(items):
        drawn = generator(seed, "published", published.name).choice(len(items), published.drawn, replace=False)
        items = [items[index] for index in sorted(drawn)]
    rows = [
        {
            "benchmark": published.name,
            "problem": item.id,
            "question": item.question,
            "options": json.dumps(item.choices or (), ensure_ascii=False),
            "prompt": prompt(published.prompt.template, item),
            "answer": item.answer,
            "answer_type": published.answer_type,
        }
        for item in items
    ]
    return pd.DataFrame(rows, columns=list(records.PROBLEMS))


def prompt(template: str, item: Item) -> str:
    r"""The template with ``{question}`` and ``{options}`` filled in; other braces, as in ``\boxed{}``, stay.

    Choices become four lines ``A) ...`` to ``D) ...``.
    """
    lines = [f"{letter}) {choice}" for letter, choice in zip(LETTERS, item.choices or (), strict=False)]
    shown = {"question": item.question, "options": "\n".join(lines)}
    return _PLACE.sub(lambda place: shown[place[1]], template)  # in one pass: a question may hold such words itself


def _hub_rows(published: PublishedSet, config: str) -> tuple[str, list[dict[str, Any]]]:
    """Where the rows of one config are on the hub, and the rows."""
    origin = f"{published.hub} ({config}, {published.split}, revision {published.revision})"
    try:
        dataset = datasets.load_dataset(
            published.hub,
            config,
            split=published.split,
            revision=published.revision,
            token=published.gated,  # True: the library finds the token itself; it is in no variable here
        )
    except _FAILURES as error:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise
        kind = Transient if lost_connection(error) else UserError
        raise kind(f"{published.file}: {origin} cannot be read: {_one_line(error)}") from None
    return origin, _rows(published, dataset, published.columns, origin)


def _mirror_rows(published: PublishedSet, config: str, mirror: Path) -> tuple[str, list[dict[str, Any]]]:
    """The file of one config in a mirror, and its rows."""
    copy = published.mirror_copy
    hub, config, split = (copy.hub, copy.config, copy.split) if copy else (published.hub, config, published.split)
    file = mirror / hub / config / f"{split}.jsonl"
    if not file.is_file():
        raise UserError(f"{published.file}: the mirror has no file {file}; put it there, or leave out data.mirror")
    with tempfile.TemporaryDirectory() as cache:  # no cache outlives the file that it copies
        try:
            dataset = datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=cache)
        except _FAILURES as error:
            raise UserError(f"{published.file}: {file} cannot be read: {_one_line(error)}") from None
        return str(file), _rows(published, dataset, copy.columns if copy else published.columns, str(file))


def _rows(
    published: PublishedSet, dataset: datasets.Dataset, columns: tuple[str, ...], origin: str
) -> list[dict[str, Any]]:
    missing = [column for column in columns if column not in dataset.column_names]
    if missing:
        raise UserError(
            f"{published.file}: columns: {', '.join(missing)} not in {origin}, "
            f"which has {', '.join(dataset.column_names)}"
        )
    return dataset.select_columns(list(columns)).to_list()


def _one_line(error: Exception) -> str:
    """An error of the library's in one line, without the token should it hold it."""
    line = f"{type(error).__name__}: {' '.join(str(error).split())}"
    token = get_token()
    return line.replace(token, "[token]") if token else line
