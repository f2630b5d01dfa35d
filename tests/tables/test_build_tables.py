import subprocess

import pandas as pd
import pytest
import synthetic
import table_frames as made
from system import needs

from ict_core.errors import UserError
from ict_core.store.layout import REPOSITORY
from ict_core.tables.build import make_tables
from ict_core.tables.registry import TABLES
from ict_core.tables.write import write

ENDINGS = ("csv", "md", "tex")
PREAMBLE = (
    r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage[margin=2cm]{geometry}\usepackage{booktabs,graphicx}"
    r"\begin{document}"
)


def build_tables(frames, settings, note, out):
    return [path for table in make_tables(frames, settings) for path in write(table, out, note)]


def compiled(folder, inputs):
    """What LaTeX prints of tables, which it must take."""
    (folder / "all.tex").write_text(
        PREAMBLE + r"\clearpage".join(rf"\input{{{name}}}" for name in inputs) + r"\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def paths(study, tmp_path_factory):
    return build_tables(study, made.settings(), "100 % a miniature.", tmp_path_factory.mktemp("tables"))


@pytest.mark.slow
def test_builds_every_table_in_every_form(paths):
    assert [p.name for p in paths] == [f"{name}.{ending}" for name in TABLES for ending in ENDINGS]
    assert all("a miniature." in p.read_text() for p in paths if p.suffix != ".csv")
    rows = {p.stem: len(pd.read_csv(p)) for p in paths if p.suffix == ".csv"}
    # it has no gates, rates, controls, batches
    empty = dict.fromkeys(("validity", "tuning", "rates", "bench", "batches"), 0)
    assert {name: rows.pop(name) for name in empty} == empty
    assert min(rows.values()) >= len(synthetic.BENCHMARKS)


@pytest.mark.slow
def test_one_run_an_arm_is_enough_and_a_variant_of_one_model_is_shown_there_alone(tmp_path):
    variants = ["grpo", "ict-5", "ict-10"]
    scores = synthetic.scores(variants=variants, seeds=(1,), n=4)
    scores = scores[(scores["model"] == "tiny") | (scores["variant"] != "ict-5")]
    tables = make_tables(made.frames(scores, variants, ["grpo"], []), made.settings(variants, ["grpo"]))
    of = {table.name: table for table in tables if write(table, tmp_path)}
    assert (of["contrasts"].readable["verdict"] == "one seed").all() and len(of) == len(TABLES)
    for numbers in (of[name].numbers for name in ("main", "contrasts", "thresholds", "compute")):
        assert set(numbers.loc[numbers["variant"] == "ict-5", "model"]) == {"tiny"}
        assert set(numbers.loc[numbers["variant"] == "ict-10", "model"]) == {"tiny", "small"}


def test_a_study_with_a_missing_variant_is_refused_before_anything_is_written(study, tmp_path):
    with pytest.raises(UserError, match="no row of kl-10"):
        build_tables(study, made.settings(["grpo", "kl-10"]), "", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_latex_compiles_without_an_overfull_box(paths):
    needs("texlive-latex-recommended")
    printed = compiled(paths[0].parent, TABLES)
    assert "Overfull" not in printed and "Float too large" not in printed


@pytest.mark.slow
def test_the_latex_of_a_real_model_s_tokens_compiles(tmp_path):
    needs("texlive-latex-recommended")
    folders = [REPOSITORY / "results/reference" / study / "tables" for study in ("smollm2-tokens", "smollm2-rules")]
    assert compiled(tmp_path, [folder / f"token_{of}" for folder in folders for of in ("texts", "rules")])
