"""Cells in a folder of their own; `tests/workflow/test_cells.py` has all that needs a run."""

import pytest

from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.evidence.cells import stored_in


def test_what_a_killed_job_left_half_written_is_no_stored_cell(tmp_path):
    for name in ("seed-1", "seed-2.partial", "seed-3.old.partial"):
        (tmp_path / "m/v" / name).mkdir(parents=True)
        (tmp_path / "m/v" / name / "cell.json").write_text("{}")
    assert [cell for cell, _ in stored_in(tmp_path)] == [Cell("m", "v", 1)]
    (tmp_path / "m/v/seed-old").mkdir()
    (tmp_path / "m/v/seed-old/cell.json").write_text("{}")
    with pytest.raises(UserError, match="seed-old"):
        list(stored_in(tmp_path))
