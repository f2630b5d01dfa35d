"""The schema of every frame that a stage writes, and the only code that reads and writes them.

A float may be NaN where it is undefined (a mean over no token); nothing else may be null. Every file holds the SHA-256
of its frame's content, which is held against what is read.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ict_core.errors import Damaged, UserError
from ict_core.store.files import appearing
from ict_core.store.token_scores import POLICY_STATISTICS, STATISTICS

STATUSES_GRADED = ("correct", "wrong", "no_answer")
STATUSES_UNGRADED = ("timeout", "memory", "error")
STATUSES = STATUSES_GRADED + STATUSES_UNGRADED

_CELL = {"model": "str", "variant": "str", "seed": "int"}

PROBLEMS = {
    "benchmark": "str",
    "problem": "str",
    "question": "str",  # without the instruction that all prompts of its set share
    "options": "str",  # of a multiple choice: JSON, a list of texts in the order of their letters; else []
    "prompt": "str",  # question and options in the template of their set
    "answer": "str",
    "answer_type": "str",
}
CONTAMINATION = {
    "benchmark": "str",
    **dict.fromkeys(
        ("problems", "training", "repeated", "exact", "ngram", "short", "similar", "same_answer", "but_for_numbers"),
        "int",
    ),
}
NEAR_DUPLICATES = {
    "benchmark": "str",
    "problem": "str",
    "training_set": "str",
    "training_problem": "str",
    "similarity": "float",
    "same_answer": "str",
}
COMPLETION_PROBE = {
    "benchmark": "str",
    "problem": "str",
    "percent": "int",
    "exact": "bool",
    "rouge_l": "float",
}
COMPLETIONS = {
    "benchmark": "str",
    "problem": "str",
    "sample": "int",
    "seed": "int",
    "text": "str",
    "tokens": "int",
    "finish_reason": "str",
    "logprob": "float",
}
GRADES = {
    "benchmark": "str",
    "problem": "str",
    "sample": "int",
    "status": "str",
    "extracted": "str",
    "finish_reason": "str",
    "tokens": "int",
}
SCORES = {
    **_CELL,
    "benchmark": "str",
    "problem": "str",
    "sampled": "int",
    "n": "int",
    **dict.fromkeys(STATUSES, "int"),
    "truncated": "int",
    "tokens": "int",
}
_STEP_MEANS = (
    "reward",
    "reward_std",
    "zero_advantage_share",
    "length_mean",
    "truncated_share",
    "kept_share",
    "h1",
    "h2",
    "h1_kept",
    "h2_kept",
    "kl",
    "clip_share",
    "grad_norm",
    "learning_rate",
    "loss",
    "sampler_difference",
    "corrected_share",
    "probe_difference",
)
LOG = {
    "step": "int",
    "selecting": "bool",
    **dict.fromkeys(_STEP_MEANS, "float"),
    "tokens": "int",
}
STUDY_LOG = {**_CELL, **LOG}
TIMING = {"step": "int", "rollout_s": "float", "statistics_s": "float", "update_s": "float", "total_s": "float"}
TOKENS = {
    "step": "int",
    "group": "int",
    "rollout": "int",
    "position": "int",
    "token": "int",
    "fork": "float",  # 1 at a known decision point, 0 elsewhere; NaN where none is known (published problems)
    **dict.fromkeys(STATISTICS, "float"),
    "advantage": "float",
    "kept": "bool",
    # of the same token after the step's update; NaN where no update was made
    **dict.fromkeys((f"{name}_after" for name in POLICY_STATISTICS), "float"),
}
STUDY_TOKENS = {**_CELL, "selecting": "bool", **TOKENS}
# Every rule on the same tokens of one sampled step (`shadow.score`): shares and means, NaN over nothing.
SHADOW = {
    "step": "int",
    "rule": "str",
    "tokens": "int",
    **dict.fromkeys(
        (
            "kept_share",
            "forks",  # known decision points among the tokens; NaN where none is known
            "fork_recall",
            "fork_precision",
            "gradient_share",
            "surprise_share",
            "positive_share",
            "negative_share",
            "high_h1_share",
            "high_h2_share",
            "position",
            "probability",
            "purity",
            "distance",
        ),
        "float",
    ),
}
OVERLAP = {"step": "int", "rule": "str", "other": "str", "jaccard": "float", "rank_correlation": "float"}
GRADIENTS = {"rule": "str", "norm_share": "float", "cosine": "float"}  # `shadow.checkpoint`
STUDY_SHADOW = {**_CELL, **SHADOW}  # the cell is that of the rollouts, whatever rule trained it
STUDY_OVERLAP = {**_CELL, **OVERLAP}
STAGES = ("pretrain", "fetch", "train", "generate", "grade")
COMPUTE = {
    **_CELL,
    "stage": "str",
    "tokens": "int",
    "seconds": "float",
    "peak_memory_mib": "float",
    "peak_gpu_memory_mib": "float",
}

_ARROW = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
_HASH = b"content_sha256"  # a key of the Parquet file's metadata


def _schema(columns: dict[str, str]) -> pa.Schema:
    return pa.schema([pa.field(name, _ARROW[kind], nullable=kind == "float") for name, kind in columns.items()])


def _table(frame: pd.DataFrame, path: Path | str, columns: dict[str, str]) -> pa.Table:
    """The frame under its schema, with the hash of its content; the path is for messages."""
    if set(frame.columns) != set(columns):
        missing, unknown = set(columns) - set(frame.columns), set(frame.columns) - set(columns)
        raise UserError(f"{path}: columns missing {sorted(missing)}, unknown {sorted(unknown)}")
    try:
        table = pa.Table.from_pandas(frame[list(columns)], schema=_schema(columns), preserve_index=False)
    except (ValueError, pa.ArrowTypeError) as error:  # ArrowInvalid is a ValueError
        raise UserError(f"{path}: {error}") from error
    return table.replace_schema_metadata({_HASH: _hash(table)})


def _hash(table: pa.Table) -> str:
    """SHA-256 of names, types and values, in hexadecimal, however they are laid out in a file."""
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table[name]
        digest.update(f"{name} {column.type} {len(column)}\n".encode())
        if column.type == pa.string():
            digest.update(pc.fill_null(pc.binary_length(column), -1).to_numpy().astype("<i8").tobytes())
            for chunk in column.chunks:
                digest.update("".join(filter(None, chunk.to_pylist())).encode())
        else:
            values = np.ascontiguousarray(column.to_numpy())  # a float's null is NaN
            digest.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def frame_hash(frame: pd.DataFrame, columns: dict[str, str]) -> str:
    """The hash of a frame's content, as :func:`content_hash` finds it in its file.

    Raises:
        UserError: as :func:`write_frame`.
    """
    return str(_table(frame, "frame", columns).schema.metadata[_HASH].decode())


def write_frame(frame: pd.DataFrame, path: Path, columns: dict[str, str]) -> None:
    """Write a frame as Parquet under its schema; the file appears whole or not at all.

    Raises:
        UserError: a column is missing, unknown, of the wrong type, or holds a null.
    """
    table = _table(frame, path, columns)
    floats = [name for name, kind in columns.items() if kind == "float"]
    with appearing(path) as partial:
        pq.write_table(
            table,
            partial,
            compression="zstd",
            use_dictionary=[name for name in columns if name not in floats],
            use_byte_stream_split=floats,  # a quarter smaller
        )


def content_hash(path: Path) -> str:
    """The SHA-256 of a frame's content that its file states; only :func:`read_frame` holds it against the content.

    Raises:
        UserError: the file is missing or holds none.
        Damaged: it is not Parquet.
    """
    with _reading(path, path):
        found = (pq.read_schema(path).metadata or {}).get(_HASH)
    return _stated(path, found)


def read_frame(path: Path, columns: dict[str, str], output: Path | None = None) -> pd.DataFrame:
    """Read a frame that :func:`write_frame` wrote.

    Args:
        output: what a stage made as a whole, if the file is a part of it.

    Raises:
        UserError: the file is missing, or another version wrote it: without a checksum, or with another schema.
        Damaged: it is not Parquet, or its content is not what was written.
    """
    table = _read(path, output or path)[0]
    found = {field.name: field.type for field in table.schema}
    wanted = {name: _ARROW[kind] for name, kind in columns.items()}
    if found != wanted:
        different = sorted(n for n in found.keys() | wanted.keys() if found.get(n) != wanted.get(n))
        raise UserError(f"{path}: columns {different} are missing, unknown or of another type; rerun its stage")
    return table.to_pandas()


def checked_hash(path: Path) -> str:
    """As :func:`content_hash`, held against the content, under whatever schema.

    Raises:
        UserError, Damaged: as :func:`read_frame`.
    """
    return _read(path, path)[1]


def _read(path: Path, output: Path) -> tuple[pa.Table, str]:
    """A frame's table with the hash of its content, which is that stated."""
    with _reading(path, output):
        table = pq.read_table(path)
    stated = _stated(path, (table.schema.metadata or {}).get(_HASH))
    try:
        whole = _hash(table) == stated
    except (pa.ArrowException, UnicodeDecodeError):
        whole = False
    if not whole:
        raise Damaged(f"{path}: its content is not what was written (SHA-256)", output)
    return table, stated


def _stated(path: Path, stated: bytes | None) -> str:
    if stated is None:
        raise UserError(f"{path}: it holds no checksum, so another version wrote it; delete it and rerun its stage")
    return stated.decode(errors="replace")


@contextmanager
def _reading(path: Path, output: Path) -> Iterator[None]:
    """Around the reading of a file: tells that it is missing or damaged, and leaves the system's other errors."""
    try:
        if path.is_dir():  # which Arrow would read as one frame in many files
            raise Damaged(f"{path}: a folder stands where a file is wanted", output)
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path}: no such file; run the stage that writes it") from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise Damaged(f"{path}: not a readable Parquet file ({error})", output) from error
