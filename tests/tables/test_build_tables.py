import subprocess

import pandas as pd
import pytest
import synthetic
import table_frames as made
from system import needs

from ict_core.errors import UserError
from ict_core.store import REPOSITORY
from ict_core.tables import TABLES, make_tables, write

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


@pytest.mark.slow
def test_builds_every_table_in_every_form(study, tmp_path):
    paths = build_tables(study, made.settings(), "A miniature study.", tmp_path)
    assert [p.name for p in paths] == [f"{name}.{ending}" for name in TABLES for ending in ENDINGS]
    assert all("A miniature study." in p.read_text() for p in paths if p.suffix != ".csv")
    rows = {p.stem: len(pd.read_csv(p)) for p in paths if p.suffix == ".csv"}
    # it has no gates, rates, controls, batches
    empty = dict.fromkeys(("validity", "tuning", "rates", "bench", "batches"), 0)
    assert {name: rows.pop(name) for name in empty} == empty
    assert min(rows.values()) >= len(synthetic.BENCHMARKS)


@pytest.mark.slow
def test_the_order_of_the_frames_rows_of_one_model_does_not_matter(study, tmp_path):
    columns = ("levels", "contrasts", "compute")
    turned = {name: pd.concat([f[::-1] for _, f in study[name].groupby("model", sort=False)]) for name in columns}
    first = build_tables(study, made.settings(), "", tmp_path / "a")
    second = build_tables({**study, **turned}, made.settings(), "", tmp_path / "b")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_smoke_study_has_every_table(seeds, tmp_path):
    variants, baselines = ["grpo", "ict-10"], ["grpo"]
    scores = synthetic.scores(["tiny"], variants, seeds=seeds, n=4)
    frames = made.frames(scores, variants, baselines, [("ict-10", "grpo", "pass@4")])
    tables = make_tables(frames, made.settings(variants, baselines))
    build_tables(frames, made.settings(variants, baselines), "", tmp_path)
    assert len([*tmp_path.iterdir()]) == len(ENDINGS) * len(TABLES)
    of = {table.name: table.readable for table in tables}
    assert (of["contrasts"]["verdict"] == "one seed").all() == (len(seeds) == 1)


@pytest.mark.slow
def test_a_variant_that_only_one_model_ran_is_shown_there_alone():
    variants = ["grpo", "ict-5", "ict-10"]
    scores = synthetic.scores(variants=variants, seeds=(1, 2))
    scores = scores[(scores["model"] == "tiny") | (scores["variant"] != "ict-5")]
    tables = make_tables(made.frames(scores, variants, ["grpo"], []), made.settings(variants, ["grpo"]))
    for numbers in (table.numbers for table in tables if table.name in ("main", "contrasts", "thresholds", "compute")):
        assert set(numbers.loc[numbers["variant"] == "ict-5", "model"]) == {"tiny"}
        assert set(numbers.loc[numbers["variant"] == "ict-10", "model"]) == {"tiny", "small"}


@pytest.mark.slow
def test_samples_that_could_not_be_graded_are_told_with_every_table_whose_numbers_lack_them():
    variants, baselines = ["grpo", "stapo", "ict-10", "ict-20"], ["grpo", "stapo"]
    whole, scores = (synthetic.scores(["tiny"], variants) for _ in range(2))
    row = scores.index[(scores["variant"] == "grpo") & (scores["wrong"] > 4)][0]
    scores.loc[row, ["n", "wrong", "timeout"]] += [-5, -5, 5]
    made_of = [
        {t.name: t for t in make_tables(made.frames(s, variants, baselines), made.settings(variants, baselines))}
        for s in (whole, scores)
    ]
    before, after = made_of
    told = {name for name, table in after.items() if "notice" in table.numbers}
    assert told == {"main", "contrasts", "thresholds", "paper"}  # no ablation is of grpo
    sentence = "5 of 34,320 samples could not be graded (timeout, memory, error) and enter no value: `tiny/grpo` 5."
    assert {name for name, table in after.items() if sentence in table.caption} == told
    for table in before.values():
        assert "notice" not in table.numbers and "not be graded" not in table.caption
    contrasts = after["contrasts"].numbers
    arms = (contrasts[["variant", "baseline"]] == "grpo").any(axis=1)
    concerned = arms & contrasts["benchmark"].isin(["average", scores.loc[row, "benchmark"]])
    assert (contrasts["notice"] != "").equals(concerned) and 0 < concerned.sum() < len(contrasts)
    declared = contrasts[(contrasts["family"] == "declared") & (contrasts["baseline"] == "grpo")].iloc[0]
    # 330 problems, 3 seeds, 8 samples; pass@3 for pass@4 is q^3 - q^4 too low, at most 27/256, of one problem in 3 x 60
    # and one benchmark of seven
    most = f"{100 * 27 / 256 / (3 * 60) / 7:.2g}"
    told_of = f"graded samples: ict-10 7920 of 7920, grpo 7915 of 7920; pass@4 of grpo at most {most} points too low"
    assert (declared["variant"], declared["notice"]) == ("ict-10", told_of)
    assert (after["thresholds"].numbers["notice"] != "").all()  # each is compared with grpo
    main = after["main"].numbers
    assert set(main.loc[main["notice"] != "", "variant"]) == {"grpo"}
    paper = after["paper"].numbers
    assert set(paper.loc[paper["notice"] != "", "source"]) == {"this study"}


def test_a_study_with_a_missing_variant_is_refused_before_anything_is_written(study, tmp_path):
    with pytest.raises(UserError, match="no row of kl-10"):
        build_tables(study, made.settings(["grpo", "kl-10"]), "", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_latex_compiles_without_an_overfull_box(study, tmp_path):
    needs("texlive-latex-recommended")
    build_tables(study, made.settings(), "100 % a_miniature", tmp_path)
    printed = compiled(tmp_path, TABLES)
    assert "Overfull" not in printed and "Float too large" not in printed


@pytest.mark.slow
def test_the_latex_of_a_real_model_s_tokens_compiles(tmp_path):
    needs("texlive-latex-recommended")
    folders = [REPOSITORY / "results/reference" / study / "tables" for study in ("smollm2-tokens", "smollm2-rules")]
    assert compiled(tmp_path, [folder / f"token_{of}" for folder in folders for of in ("texts", "rules")])
