"""The schema of every frame that a stage writes, and the only code that reads and writes them.

A float may be NaN where it is undefined (a mean over no token); nothing else may be null. Every file holds the SHA-256
of its frame's content, which is checked when the file is read.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ict_core.errors import Damaged, UserError
from ict_core.store.files import appearing
from ict_core.store.token_scores import POLICY_STATISTICS, READING_REFERENCES, STATISTICS

STATUSES_GRADED = ("correct", "wrong", "no_answer")
STATUSES_UNGRADED = ("timeout", "memory", "error")
STATUSES = STATUSES_GRADED + STATUSES_UNGRADED


def _columns(kind: str, names: str) -> dict[str, str]:
    """Columns of one kind, by their names, separated by blanks."""
    return dict.fromkeys(names.split(), kind)


_texts, _whole, _floats, _flags = (functools.partial(_columns, kind) for kind in ("str", "int", "float", "bool"))
_CELL = _texts("model variant") | _whole("seed")
_PROBLEM = _texts("benchmark problem")

PROBLEMS = _PROBLEM | _texts("question options prompt answer answer_type")
"""``question``: without the instruction that all prompts of its set share. ``options``: of a multiple choice, a JSON
list of texts in the order of their letters; otherwise []. ``prompt``: question and options in their set's template."""

CONTAMINATION = _texts("benchmark") | _whole(
    "problems training repeated exact ngram short similar same_answer but_for_numbers"
)
NEAR_DUPLICATES = _PROBLEM | _texts("training_set training_problem") | _floats("similarity") | _texts("same_answer")
COMPLETIONS = (
    _PROBLEM | _whole("sample seed") | _texts("text") | _whole("tokens") | _texts("finish_reason") | _floats("logprob")
)
SAMPLED = COMPLETIONS | _texts("ids")
"""``ids``: the sampled tokens, see :func:`listed`."""

GRADES = _PROBLEM | _whole("sample") | _texts("status extracted finish_reason") | _whole("tokens")
ANSWERS = (
    _PROBLEM
    | _texts("prompt answer")
    | _whole("sample seed")
    | _texts("text status extracted finish_reason")
    | _whole("tokens")
)
"""Every answer (``text``) of `ict eval`, with its problem's prompt, gold ``answer`` and verdict."""

TUNING = _texts("model variant") | _floats("rate") | _whole("seed") | _floats("reward") | _flags("chosen")
"""A row per training by which a variant's learning rate was chosen; ``reward`` is its mean over the last quarter of the
steps. At rate 0, a row per seed with the reward of the base model, if it was recorded."""

REWARDS = _texts("model variant") | _floats("rate") | _whole("seed step") | _floats("reward")
"""The reward of every step of the trainings by which learning rates were chosen."""

SCORES = _CELL | _PROBLEM | _whole(f"sampled n {' '.join(STATUSES)} truncated tokens")

_STEP_MEANS = (
    "reward reward_std zero_advantage_share length_mean truncated_share kept_share h1 h2 h1_kept h2_kept kl clip_share "
    "grad_norm learning_rate loss sampler_difference corrected_share probe_difference"
)
LOG = _whole("step") | _flags("selecting") | _floats(_STEP_MEANS) | _whole("tokens")
STUDY_LOG = _CELL | LOG
LEARNING_CURVE = _PROBLEM | _whole("step sample") | _texts("status") | _whole("tokens")
"""The answers to held-out problems after ``step`` optimiser steps."""

STUDY_LEARNING_CURVE = _CELL | LEARNING_CURVE
KEPT_ROLLOUTS = (
    _PROBLEM
    | _whole("step group rollout")
    | _texts("text")
    | _floats("reward advantage")
    | _whole("tokens")
    | _flags("truncated")
    | _columns("ints", "ids")
    | _columns("reals", "logprob weight")
)
"""The rollouts of a training step. ``truncated``: cut at the token limit. For every token: ``logprob``, ln p under
the policy that sampled, and ``weight`` in the first update, 0 if the rule leaves the token out."""

TIMING = _whole("step") | _floats("rollout_s statistics_s update_s total_s")
TOKENS = (
    _whole("step group rollout position token")
    | _floats(f"fork {' '.join(STATISTICS)} advantage")
    | _flags("kept")
    | _floats(" ".join(f"{name}_after" for name in POLICY_STATISTICS))
)
"""``fork``: 1 at a known decision point, 0 elsewhere; NaN if none is known (published problems). ``..._after``: the
statistic of the same token after the step's update; NaN if no update was made."""

STUDY_TOKENS = _CELL | _flags("selecting") | TOKENS
SHADOW = (
    _whole("step")
    | _texts("rule")
    | _whole("tokens")
    | _floats(
        "kept_share forks fork_recall fork_precision gradient_share surprise_share positive_share negative_share "
        "high_h1_share high_h2_share position probability purity distance"
    )
)
"""Every rule on the same tokens of one sampled step (`shadow.score.score_study`): shares and means, NaN over nothing.
``forks``: the number of known decision points among the tokens; NaN if none is known."""

OVERLAP = _whole("step") | _texts("rule other") | _floats("jaccard rank_correlation")
GRADIENTS = _texts("rule") | _floats("norm_share cosine")  # of a checkpoint
STUDY_SHADOW = _CELL | SHADOW  # the cell is the one that sampled, whatever rule trained it
STUDY_OVERLAP = _CELL | OVERLAP
STAGES = ("pretrain", "fetch", "supervised_start", "tune", "train", "generate", "grade")
COMPUTE = _CELL | _texts("stage") | _whole("tokens") | _floats("seconds peak_memory_mib peak_gpu_memory_mib")

SOLUTIONS = _texts("problem prompt completion")
"""Worked solutions of training problems, for a supervised start."""

ROLLOUTS = _PROBLEM | _whole("sample") | _texts("ids status")
"""Answers of a model to be read token by token; ``status``: one of :data:`STATUSES`."""

READING_TOKENS = (
    _whole("group rollout position")
    | _floats("temperature p purity h1")
    | _floats(" ".join(f"score_{r} reference_p_{r} reference_purity_{r}" for r in READING_REFERENCES))
)
"""A token under each reference (`shadow.readings.token_readings`): u, P_avg(a) of the sampled token, sum P_avg^2."""

READINGS = (
    _texts("set reference scope quantity cut")
    | _floats("temperature kept_share median_h1")
    | _whole("tokens prompts elbow_prompts")
    | _floats(" ".join(f"{f} {f}_low {f}_high" for f in ("probability", "high_share", "elbow")))
    | _flags("probability_fits high_share_fits elbow_fits meets")
)
"""A row per reading of the paper (`shadow.readings.crossing`): its figures for kept tokens, and which are in range.
``set``: the prompts' set. ``elbow_prompts``: how many prompts have an elbow."""

STUDY_READINGS = _texts("model variant") | READINGS

GRADIENT_SHARES = _PROBLEM | GRADIENTS
TOKEN_TEXTS = _texts("model rule kind text") | _whole("tokens prompts") | _floats("share low high lift")
"""The share of a text's tokens that a rule keeps; ``kind``: `token`, or `class` of words."""

_ARROW = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
_ARROW |= {  # lists with an entry per token; the entries' name is Parquet's
    kind: pa.list_(pa.field("element", entry)) for kind, entry in (("ints", pa.int32()), ("reals", pa.float32()))
}
_HASH = b"content_sha256"  # a key of the Parquet file's metadata


def listed(ids: Iterable[Sequence[int]]) -> list[str]:
    """Lists of whole numbers as texts, separated by blanks."""
    return [" ".join(map(str, sequence)) for sequence in ids]


def unlisted(texts: Iterable[str]) -> list[tuple[int, ...]]:
    """The lists that :func:`listed` wrote."""
    return [tuple(map(int, text.split())) for text in texts]


def _table(frame: pd.DataFrame, path: Path | str, columns: dict[str, str]) -> pa.Table:
    """The frame as a table of its schema, with the hash of its content; `path` is for messages."""
    if set(frame.columns) != set(columns):
        missing, unknown = set(columns) - set(frame.columns), set(frame.columns) - set(columns)
        raise UserError(f"{path}: columns missing {sorted(missing)}, unknown {sorted(unknown)}")
    schema = pa.schema([pa.field(name, _ARROW[kind], nullable=kind == "float") for name, kind in columns.items()])
    try:
        table = pa.Table.from_pandas(frame[list(columns)], schema=schema, preserve_index=False)
    except (ValueError, pa.ArrowTypeError) as error:  # ArrowInvalid is a ValueError
        raise UserError(f"{path}: {error}") from error
    return table.replace_schema_metadata({_HASH: _hash(table)})


def _hash(table: pa.Table) -> str:
    """SHA-256 of names, types and values, in hexadecimal, whatever their layout in a file."""
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table[name]
        digest.update(f"{name} {column.type} {len(column)}\n".encode())
        if pa.types.is_list(column.type):
            digest.update(pc.list_value_length(column).to_numpy().astype("<i4").tobytes())
            column = pc.list_flatten(column)
        if column.type == pa.string():
            digest.update(pc.fill_null(pc.binary_length(column), -1).to_numpy().astype("<i8").tobytes())
            for chunk in column.chunks:
                digest.update("".join(filter(None, chunk.to_pylist())).encode())
        else:
            values = np.ascontiguousarray(column.to_numpy())  # a float's null is NaN
            digest.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def frame_hash(frame: pd.DataFrame, columns: dict[str, str]) -> str:
    """The hash of a frame's content, as :func:`content_hash` reads it from the frame's file."""
    return str(_table(frame, "frame", columns).schema.metadata[_HASH].decode())


def write_frame(frame: pd.DataFrame, path: Path, columns: dict[str, str]) -> None:
    """Write a frame as Parquet; UserError if a column is missing, unknown, of the wrong type, or has a null."""
    table = _table(frame, path, columns)
    leaves = {"ints": ".list.element", "reals": ".list.element"}  # Parquet's names for the entries of lists
    named = {name + leaves.get(kind, ""): kind for name, kind in columns.items()}
    floats = [name for name, kind in named.items() if kind in ("float", "reals")]
    with appearing(path) as partial:
        pq.write_table(
            table,
            partial,
            compression="zstd",
            use_dictionary=[name for name in named if name not in floats],
            use_byte_stream_split=floats,  # a quarter smaller
        )


def content_hash(path: Path) -> str:
    """The SHA-256 of a frame's content that its file states, without the check that :func:`read_frame` makes."""
    with _reading(path, path):
        schema = pq.read_schema(path)
    return _stated(path, schema)


def read_frame(path: Path, columns: dict[str, str], output: Path | None = None) -> pd.DataFrame:
    """Read a frame that :func:`write_frame` wrote; `output`: the stage's output, if the file is part of it.

    Raises:
        UserError: the file is missing, or another version wrote it: without a checksum, or with another schema.
        Damaged: it is not Parquet, or its content is not what was written.
    """
    table = _read(path, output or path)[0]
    stored = {field.name: field.type for field in table.schema}
    wanted = {name: _ARROW[kind] for name, kind in columns.items()}
    if stored != wanted:
        different = sorted(n for n in stored.keys() | wanted.keys() if stored.get(n) != wanted.get(n))
        raise UserError(f"{path}: columns {different} are missing, unknown or of another type; rerun its stage")
    return table.to_pandas()


def checked_hash(path: Path) -> str:
    """As :func:`content_hash`, checked against the content, for any schema."""
    return _read(path, path)[1]


def _read(path: Path, output: Path) -> tuple[pa.Table, str]:
    """A frame's table with the hash of its content, checked against the stated one."""
    with _reading(path, output):
        table = pq.read_table(path)
    stated = _stated(path, table.schema)
    try:
        intact = _hash(table) == stated
    except (pa.ArrowException, UnicodeDecodeError):
        intact = False
    if not intact:
        raise Damaged(f"{path}: its content is not what was written (SHA-256)", output)
    return table, stated


def _stated(path: Path, schema: pa.Schema) -> str:
    stated = (schema.metadata or {}).get(_HASH)
    if stated is None:
        raise UserError(f"{path}: it holds no checksum, so another version wrote it; delete it and rerun its stage")
    return str(stated.decode(errors="replace"))


@contextmanager
def _reading(path: Path, output: Path) -> Iterator[None]:
    """Context of reading a file: reports that it is missing or damaged, and lets the system's other errors pass."""
    try:
        if path.is_dir():  # Arrow would read it as one frame in many files
            raise Damaged(f"{path}: a folder stands where a file is wanted", output)
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path}: no such file; run the stage that writes it") from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise Damaged(f"{path}: not a readable Parquet file ({error})", output) from error
