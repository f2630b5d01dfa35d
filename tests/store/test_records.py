"""Frames are checked when written and when read, and appear whole or not at all."""

import re

import pandas as pd
import pytest

from ict_core.errors import Damaged, UserError
from ict_core.store import records

FRAME = pd.DataFrame(
    {"step": [0, 1], "rollout_s": [1.0, float("nan")], "statistics_s": 0.0, "update_s": 0.5, "total_s": 2.0}
)


def test_a_frame_comes_back(tmp_path):
    path = tmp_path / "deep" / "timing.parquet"
    records.write_frame(FRAME[FRAME.columns[::-1]], path, records.TIMING)
    pd.testing.assert_frame_equal(records.read_frame(path, records.TIMING), FRAME)
    assert [p.name for p in path.parent.iterdir()] == ["timing.parquet"]


def test_the_same_frame_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        records.write_frame(FRAME, tmp_path / name, records.TIMING)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_lists_come_back_and_where_one_ends_is_part_of_the_content(tmp_path):
    values = {"str": "x", "int": 1, "float": 0.5, "bool": True}
    plain = {name: values[kind] for name, kind in records.KEPT_ROLLOUTS.items() if kind in values}
    lists = {"ids": [[1, 2], [], [3]], "logprob": [[-0.5, -1.5], [], [-2.0]], "weight": [[1.0, 0.0], [], [0.25]]}
    frame = pd.DataFrame(lists).assign(**plain)
    path = tmp_path / "rollouts.parquet"
    records.write_frame(frame, path, records.KEPT_ROLLOUTS)
    found = records.read_frame(path, records.KEPT_ROLLOUTS)
    assert {name: [part.tolist() for part in found[name]] for name in lists} == lists
    moved = frame.assign(ids=[[1], [2], [3]])
    stated = records.content_hash(path)
    assert records.frame_hash(found, records.KEPT_ROLLOUTS) == stated
    assert records.frame_hash(moved, records.KEPT_ROLLOUTS) != stated


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.drop(columns="step"), "missing ['step']"),
        (FRAME.assign(extra=1), "unknown ['extra']"),
        (FRAME.assign(step=["a", "b"]), "step"),
        (FRAME.assign(step=[1.0, None]), "step"),
        (FRAME.assign(step=[0.5, 1.0]), "step"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(frame, message, tmp_path):
    with pytest.raises(UserError, match=re.escape(message)):
        records.write_frame(frame, tmp_path / "x.parquet", records.TIMING)
    assert not (tmp_path / "x.parquet").exists()


def test_a_missing_a_broken_and_a_foreign_file_are_named(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        records.read_frame(tmp_path / "none.parquet", records.TIMING)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(Damaged, match="broken.parquet: not a readable"):
        records.read_frame(tmp_path / "broken.parquet", records.TIMING)
    records.write_frame(FRAME, tmp_path / "timing.parquet", records.TIMING)
    with pytest.raises(UserError, match="rerun its stage"):
        records.read_frame(tmp_path / "timing.parquet", records.GRADES)


def test_the_hash_is_of_the_content(tmp_path):
    path = tmp_path / "timing.parquet"
    records.write_frame(FRAME, path, records.TIMING)
    stated = records.content_hash(path)
    assert stated == records.frame_hash(FRAME[FRAME.columns[::-1]], records.TIMING)
    for other in (FRAME[::-1], FRAME.assign(total_s=[2.0, 2.5]), FRAME.iloc[:1], FRAME.fillna(0.0)):
        assert records.frame_hash(other, records.TIMING) != stated
    texts = {"model": ["ab", "c"], "variant": ["", "d"]}
    shifted = pd.DataFrame(texts | {"rate": 0.1, "seed": 1, "reward": 0.0, "chosen": True})
    moved = shifted.assign(model=["a", "bc"])
    assert records.frame_hash(shifted, records.TUNING) != records.frame_hash(moved, records.TUNING)


def test_a_file_without_a_hash_is_refused(tmp_path):
    FRAME.to_parquet(tmp_path / "old.parquet", index=False)
    for read in (records.content_hash, lambda path: records.read_frame(path, records.TIMING)):
        with pytest.raises(UserError, match=r"old\.parquet: .* no checksum"):
            read(tmp_path / "old.parquet")


@pytest.mark.slow
def test_no_flipped_bit_and_no_cut_goes_unseen(tmp_path):
    """A bit flipped in every seventh byte, and cuts: an error that names the file, or the very same frame."""
    path, spoiled = tmp_path / "whole.parquet", tmp_path / "spoiled.parquet"
    frame = pd.DataFrame({"model": ["a", "é"], "variant": "p", "rate": 1e-3, "seed": [40, 80]})
    frame = frame.assign(reward=[float("nan"), 0.5], chosen=[True, False])
    records.write_frame(frame, path, records.TUNING)
    whole = path.read_bytes()
    seen = 0
    for at in range(0, len(whole), 7):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        spoiled.write_bytes(flipped)
        try:
            pd.testing.assert_frame_equal(records.read_frame(spoiled, records.TUNING), frame)
        except UserError as error:
            assert "spoiled.parquet" in str(error)
            seen += 1
    assert seen > len(whole) / 14
    for length in range(0, len(whole), 97):
        spoiled.write_bytes(whole[:length])
        with pytest.raises(Damaged):
            records.read_frame(spoiled, records.TUNING)
