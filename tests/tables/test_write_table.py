import re

import numpy as np
import pandas as pd
import pytest

from ict_core.tables import csv, write
from ict_core.tables._frames import Table, grouped

NUMBERS = pd.DataFrame({"model": ["a_b", "a_b"], "mean": [1 / 3, float("nan")]})
SHOWN = pd.DataFrame({"model": ["a_b", "a_b", "c"], "metric": ["pass@1"] * 3, "mean": ["23.4 ± 3.1", "−2.0 ± —", "—"]})
TABLE = Table("main", NUMBERS, SHOWN, "Rates of `a_b`.", keys=2, title="Main results")


def test_repeated_keys_are_blanked():
    assert list(grouped(SHOWN, 2)) == [
        (0, ["a_b", "pass@1", "23.4 ± 3.1"]),
        (2, ["", "", "−2.0 ± —"]),
        (0, ["c", "pass@1", "—"]),
    ]


def test_writes_three_files_that_appear_whole(tmp_path):
    paths = write(TABLE, tmp_path / "new", "A miniature.")
    assert [p.name for p in paths] == ["main.csv", "main.md", "main.tex"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["main.csv", "main.md", "main.tex"]
    assert paths[0].read_bytes() == b"model,mean\na_b,0.3333333333\na_b,\n"


def test_a_mixed_study_is_marked_in_the_csv_too(tmp_path):
    path = write(TABLE, tmp_path, mixed="Mixed study: its jobs come from different code (a.py, b.py).")[0]
    marked = pd.read_csv(path)
    assert [*marked] == ["model", "mean", "mixed"]
    assert set(marked["mixed"]) == {"Mixed study: its jobs come from different code (a.py, b.py)."}


def test_the_last_bit_of_a_float_does_not_change_the_csv():
    values = np.array([1 / 3, 0.1, 0.7, 123.456])
    texts = {csv(pd.DataFrame({"x": v, "n": 3})) for v in (values, np.nextafter(values, 1e9), np.nextafter(values, 0))}
    assert len(texts) == 1 and re.search(r"^0\.7,3$", texts.pop(), re.MULTILINE)


def test_rounding_noise_is_zero_but_a_small_p_is_kept():
    numbers = pd.DataFrame({"difference": [-2.8e-17], "p": [1e-14], "p_adjusted": [2e-14]})
    assert csv(numbers) == "difference,p,p_adjusted\n0,1e-14,2e-14\n"
    assert numbers["difference"][0] == -2.8e-17  # the frame itself is left as it was


@pytest.mark.parametrize("ending", ["md", "tex"])
def test_the_note_stands_in_every_readable_form(ending, tmp_path):
    text = {p.suffix[1:]: p.read_text() for p in write(TABLE, tmp_path, "A miniature.")}[ending]
    assert "A miniature." in text
