import shutil
import subprocess

import pandas as pd
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.tables.build import TABLES, build_tables, make_tables

PREAMBLE = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}"


@pytest.fixture(scope="module")
def scores():
    return synthetic.scores()


def test_builds_every_table_in_every_form(scores, tmp_path):
    paths = build_tables(scores, synthetic.VARIANTS, synthetic.BASELINES, "A miniature study.", tmp_path)
    assert [p.name for p in paths] == [f"{name}.{ending}" for name in TABLES for ending in ("csv", "md", "tex")]
    assert all("A miniature study." in p.read_text() for p in paths if p.suffix != ".csv")
    assert all(len(pd.read_csv(p)) > 10 for p in paths if p.suffix == ".csv")


def test_the_same_scores_give_the_same_bytes(scores, tmp_path):
    first, second = (
        build_tables(scores, synthetic.VARIANTS, synthetic.BASELINES, "", tmp_path / name) for name in ("a", "b")
    )
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_smoke_study_has_every_table(seeds, tmp_path):
    scores = synthetic.scores(["tiny"], ["grpo", "ict-10"], seeds=seeds, n=4)
    assert len(build_tables(scores, ["grpo", "ict-10"], ["grpo"], "", tmp_path)) == 12


def test_base_may_be_named_among_the_variants(scores):
    named = make_tables(scores, ["grpo", "base"], ["grpo"])
    for ours, theirs in zip(named, make_tables(scores, ["grpo"], ["grpo"]), strict=True):
        pd.testing.assert_frame_equal(ours.shown, theirs.shown)


def test_a_broken_study_is_refused_before_anything_is_written(scores, tmp_path):
    few = scores[(scores["variant"] != "ict-10") | (scores["seed"] != 2) | (scores["model"] != "small")]
    with pytest.raises(UserError, match=r"small/ict-10 lacks seeds \[2\]"):
        build_tables(few, synthetic.VARIANTS, synthetic.BASELINES, "", tmp_path / "out")
    with pytest.raises(UserError, match=r"too few for pass@4"):
        build_tables(synthetic.scores(["tiny"], ["grpo"], n=2), ["grpo"], [], "", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_latex_compiles(scores, tmp_path):
    build_tables(scores, synthetic.VARIANTS, synthetic.BASELINES, "100 % a_miniature", tmp_path)
    inputs = "".join(rf"\input{{{name}}}\clearpage" for name in TABLES)
    (tmp_path / "all.tex").write_text(PREAMBLE + inputs + r"\end{document}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_variant_that_only_one_model_ran_is_shown_there_alone(tmp_path):
    scores = synthetic.scores(seeds=(1, 2))
    scores = scores[(scores["model"] == "tiny") | (scores["variant"] != "ict-5")]
    main, tests, fractions, _ = make_tables(scores, ["grpo", "ict-5", "ict-10"], ["grpo"])
    for numbers in (main.numbers, tests.numbers, fractions.numbers):
        assert set(numbers.loc[numbers["variant"] == "ict-5", "model"]) == {"tiny"}
        assert set(numbers.loc[numbers["variant"] == "ict-10", "model"]) == {"tiny", "small"}
