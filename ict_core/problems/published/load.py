"""Published sets: the same problems from the hub, through `datasets`, or from a mirror folder, or those of generators.

A reader turns a row into a problem with its gold answer, under an id that does not depend on row order. It reads the
row with :func:`text` and :func:`label`, and normalises the gold answer with :func:`integer`, :func:`number` or
:func:`boxed`. All raise a ValueError for an invalid value.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import pandas as pd
from huggingface_hub import constants, get_token

from ict_core.config.inputs import READERS, GeneratorSet, PublishedSet
from ict_core.errors import UserError, one_line
from ict_core.grading.boxes import last_box
from ict_core.grading.gold import LETTERS, refusal
from ict_core.problems.published._generate import generators, questions
from ict_core.process.failures import DISK_ERRORS, hub_error
from ict_core.seeding import generator
from ict_core.store import records

_NUMBER = re.compile(r"-?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?")
_FAILURES = (OSError, ValueError, datasets.exceptions.DatasetsError)  # the hub's own errors are OSErrors
_MEND = "the set was changed: pin what has these rows (revision, seed), or look at the change and state the new value"
AnySet = PublishedSet | GeneratorSet


class Item(NamedTuple):
    """One problem of a published set."""

    id: str  # the publisher's if there is one, else made from the content
    question: str  # without surrounding whitespace
    answer: str  # the gold answer, normalised; a letter where there are choices
    choices: tuple[str, ...] | None = None  # the four options in the order of their letters


Row = Mapping[str, Any]
Read = Callable[[Row], Item | None]
"""A reader. None: the row belongs to no problem of the set. ValueError: the row is not as published; the message has
nothing of the question, as some sets may not be shown."""


def text(row: Row, column: str) -> str:
    """A column's text without surrounding whitespace, which may not be empty."""
    if column not in row:
        raise ValueError(f"there is no column {column!r}; allowed: a file whose `columns` name it")
    value = row[column]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"column {column!r} holds no text")
    return value.strip()


def label(row: Row, column: str) -> str:
    """A column's number or text, as text; a decimal number with up to 15 digits, so that 5.0 is ``"5"``."""
    value = row.get(column)
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.15g}"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(row, column)


def integer(written: object) -> str:
    """An AIME answer, 0 to 999, without padding: ``"051"`` and 51 are ``"51"``."""
    digits = str(written).strip() if isinstance(written, str | int) and not isinstance(written, bool) else ""
    plain = str(int(digits)) if re.fullmatch(r"[0-9]+", digits) else ""
    if refusal(plain, "integer"):
        raise ValueError(f"the answer {written!r} is no integer from 0 to 999")
    return plain


def number(written: str) -> str:
    """A number without thousands separators: ``" 1,234"`` is ``"1234"``."""
    if not _NUMBER.fullmatch(written.strip()):
        raise ValueError(f"the answer {written.strip()[:100]!r} is no number")
    return written.strip().replace(",", "")


def boxed(solution: str) -> str:
    r"""The content of the last ``\boxed`` of a solution; it may be empty."""
    box = last_box(solution)
    if box is None:
        raise ValueError("the solution has no \\boxed answer")
    return box.answer


def content_id(*parts: str) -> str:
    """Twelve hexadecimal digits that identify a content, wherever and in whatever order its row is read."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:12]


def check_access(sets: Iterable[AnySet], mirror: Path | None) -> None:
    """Check what the sets need before any of them is downloaded from the hub, read from a `mirror` or generated.

    A mirror is a folder of `OWNER/NAME/CONFIG/SPLIT.jsonl`, `default` for an unnamed config.

    Raises:
        UserError: the mirror is no folder, or a gated set is to come from the hub and there is no token for it, or a
            set's generators are not available.
    """
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"data.mirror: {mirror} is no folder; allowed: one of OWNER/NAME/CONFIG/SPLIT.jsonl")
    for one in sets:
        if isinstance(one, GeneratorSet):
            generators(one)
        elif one.gated and mirror is None and not get_token():
            raise UserError(
                f"{one.file}: {one.hub} is gated and HF_TOKEN is not set; accept its licence "
                f"({one.licence}) at https://huggingface.co/datasets/{one.hub} and set HF_TOKEN to a token "
                "of that account, or name a data.mirror that has it"
            )


def _check_hub() -> None:
    """Raise a UserError at once if the hub is not reached: its client would try six times, with its own messages."""
    if constants.HF_HUB_OFFLINE:  # the client reads only its cache
        return
    if (error := hub_error()) is not None:
        raise UserError(
            f"the hub is not reached ({type(error).__name__}); name a folder of the rows (--mirror of `ict eval`, "
            "data.mirror of a study), or set HF_HUB_OFFLINE=1 where the hub's cache has them"
        )


def load_solutions(published: AnySet, mirror: Path | None) -> pd.DataFrame:
    """All problems of a set with their worked solutions, as ``records.SOLUTIONS`` in order of their ids.

    The solutions come from the function `solution` of the set's reader, or from its generators. A problem that occurs
    twice is one row.

    Raises:
        UserError: there are no solutions; or see :func:`load_problems`.
    """
    found = _solved(published, mirror)
    _checked(published, mirror, [item for item, _ in found])
    solved = dict(found)
    template = published.prompt.template
    rows = [(item.id, prompt(template, item), solved[item]) for item in sorted(solved, key=lambda item: item.id)]
    return pd.DataFrame(rows, columns=list(records.SOLUTIONS))


def _solved(published: AnySet, mirror: Path | None) -> list[tuple[Item, str]]:
    """Every problem with its worked solution; a UserError if there are none."""
    if isinstance(published, GeneratorSet):
        made = _made(published)
        solved = [(item, worked) for item, worked in made if worked]
        if len(solved) == len(made):
            return solved
        given, supported = f"package: {published.package}", ["ict-core"]
    else:
        solution = getattr(import_module(f"ict_core.{READERS[published.reader]}"), "solution", None)
        if solution is not None:
            return [(item, solution(row)) for item, row in _read(published, mirror)]
        given = f"reader: {published.reader}"
        modules = READERS.items()
        supported = sorted(name for name, module in modules if hasattr(import_module(f"ict_core.{module}"), "solution"))
    raise UserError(
        f"{published.file}: {given} gives no worked solutions, which a model's supervised_start reads; allowed: "
        f"{', '.join(supported)}"
    )


def _made(stated: GeneratorSet) -> list[tuple[Item, str | None]]:
    """Every problem of a set's generators, with its worked solution if they give one."""
    return [(Item(content_id(query), query, answer), worked) for query, (answer, worked) in questions(stated).items()]


def _read(published: PublishedSet, mirror: Path | None) -> list[tuple[Item, Row]]:
    """Every problem with its row, in the order of the hub's or the mirror's files."""
    read: Read = import_module(f"ict_core.{READERS[published.reader]}").read
    found: list[tuple[Item, Row]] = []
    if mirror is None:
        _check_hub()
    for config in published.configs:
        origin, rows = _rows(published, config, mirror)
        for number, row in enumerate(rows, start=1):
            try:
                item = read(row)
            except ValueError as error:
                raise UserError(f"{published.file}: row {number} of {origin}: {error}") from error
            if item is not None:
                found.append((item, row))
    return found


def _checked(published: AnySet, mirror: Path | None, items: Iterable[Item]) -> list[Item]:
    """The items in order of their ids, if they are those that the set's YAML file states.

    The second and later of equal items get `-2`, `-3`, ... after the id. The hash is over one line of JSON per item,
    ``[id, question, answer, choices]``: row order, other columns and the kind of file do not affect it.
    """
    origin = published.package if isinstance(published, GeneratorSet) else published.hub if mirror is None else None
    source = origin or f"the mirror {mirror}"
    times: Counter[Item] = Counter()
    named: dict[str, Item] = {}
    for item in items:
        times[item] += 1
        name = item.id if times[item] == 1 else f"{item.id}-{times[item]}"
        if name in named:
            raise UserError(f"{published.file}: {source}: two different rows have the id {name!r}")
        named[name] = item._replace(id=name)
    ordered = [named[name] for name in sorted(named)]
    if len(ordered) != published.rows:
        raise UserError(f"{published.file}: rows: {published.rows} stated, but {source} has {len(ordered)}; {_MEND}")
    for item in ordered:
        has_choices = item.choices is not None
        if refusal(item.answer, published.answer_type) or has_choices != (published.answer_type == "choice"):
            raise UserError(
                f"{published.file}: answer_type: {published.answer_type} does not fit the problem {item.id} of "
                f"{source}; allowed: the type of its answers"
            )
    lines = [json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n" for item in ordered]
    sha256 = hashlib.sha256("".join(lines).encode()).hexdigest()
    if published.sha256 is not None and sha256 != published.sha256:
        raise UserError(f"{published.file}: sha256: {published.sha256} stated, but {source} has {sha256}; {_MEND}")
    return ordered


def load_problems(published: AnySet, mirror: Path | None, seed: int) -> pd.DataFrame:
    """A set's problems with their prompts, as a frame of ``records.PROBLEMS`` in order of their ids.

    They are checked against the set's YAML file; for `mirror` see :func:`check_access`. The set's name becomes
    `benchmark`. If not all rows are used, `seed` and that name determine the draw.

    Raises:
        UserError: the rows cannot be read, lack a column, are not as published, or are not those that the file states.
    """
    found: Iterable[tuple[Item, Any]]
    found = _made(published) if isinstance(published, GeneratorSet) else _read(published, mirror)
    items = _checked(published, mirror, (item for item, _ in found))
    if published.drawn < len(items):
        chosen = generator(seed, "published", published.name).choice(len(items), published.drawn, replace=False)
        items = [items[index] for index in sorted(chosen)]
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
    r"""The template with ``{question}`` and ``{options}`` (lines ``A) ...``) filled in; other braces stay."""
    lines = [f"{letter}) {choice}" for letter, choice in zip(LETTERS, item.choices or (), strict=False)]
    values = {"question": item.question, "options": "\n".join(lines)}
    # in one pass, as a question may contain these words itself
    return re.sub(r"\{(question|options)\}", lambda place: values[place[1]], template)


def _rows(published: PublishedSet, config: str, mirror: Path | None) -> tuple[str, list[dict[str, Any]]]:
    """The place of one config's rows, on the hub or in a mirror, and the rows."""
    copy = published.mirror_copy if mirror else None
    columns = list(copy.columns if copy else published.columns)
    if mirror:
        place = (copy.hub, copy.config, copy.split) if copy else (published.hub, config, published.split)
        origin = f"{mirror.joinpath(*place)}.jsonl"
        rows = _of_file(published.file, origin)
    else:
        origin = f"{published.hub} ({config}, {published.split}, revision {published.revision})"
        rows = _downloaded(published, config, origin)
    names = dict.fromkeys(name for row in rows for name in row)
    if missing := [column for column in columns if column not in names]:
        raise UserError(
            f"{published.file}: columns: {', '.join(missing)} not in {origin}, which has {', '.join(names)}"
        )
    return origin, [{column: row.get(column) for column in columns} for row in rows]


def _of_file(stated: str, origin: str) -> list[dict[str, Any]]:
    """The rows of a mirror's file, one JSON object a line; `stated` is the set's YAML file."""
    if not Path(origin).is_file():
        raise UserError(f"{stated}: the mirror has no file {origin}; put it there, or leave out data.mirror")
    rows = []
    for number, line in enumerate(Path(origin).read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{stated}: line {number} of {origin} cannot be read: {one_line(error)}") from None
        if not isinstance(row, dict):
            raise UserError(f"{stated}: line {number} of {origin} is no JSON object; allowed: one of a row's columns")
        rows.append(row)
    return rows


def _downloaded(published: PublishedSet, config: str, origin: str) -> list[dict[str, Any]]:
    """The rows of one config from the hub, or from its client's cache."""
    try:
        dataset = datasets.load_dataset(
            published.hub,
            config,
            split=published.split,
            revision=published.revision,
            token=published.gated,  # True: the library finds the token itself; it is in no variable here
        )
        return dataset.to_list()
    except _FAILURES as error:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise
        raise UserError(f"{published.file}: {origin} cannot be read: {_without_token(one_line(error))}") from None


def _without_token(line: str) -> str:
    """The library's message without the token, which it may contain."""
    token = get_token()
    return line.replace(token, "[token]") if token else line
