"""Frames are checked when written and when read, and appear whole or not at all."""

import pandas as pd
import pytest

from ict_core import records
from ict_core.errors import UserError

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
    with pytest.raises(UserError) as error:
        records.write_frame(frame, tmp_path / "x.parquet", records.TIMING)
    assert message in str(error.value)
    assert not (tmp_path / "x.parquet").exists()


def test_a_missing_a_broken_and_a_foreign_file_are_named(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        records.read_frame(tmp_path / "none.parquet", records.TIMING)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(UserError, match="broken.parquet: not a readable Parquet file"):
        records.read_frame(tmp_path / "broken.parquet", records.TIMING)
    records.write_frame(FRAME, tmp_path / "timing.parquet", records.TIMING)
    with pytest.raises(UserError, match="rerun its stage"):
        records.read_frame(tmp_path / "timing.parquet", records.GRADES)
