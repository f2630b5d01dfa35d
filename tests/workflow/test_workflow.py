"""The workflow itself: its refusals, a whole smoke study, what reruns after an edit, and equal bytes."""

import getpass
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from fitting import faults
from repository_copy import REPOSITORY, Copy, jobs

from ict_core.figures.registry import FIGURES
from ict_core.selection.registry import rule_files
from ict_core.store import records
from ict_core.store.code import files_of, is_infrastructure, name_of
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import read_manifest
from ict_core.tables.registry import TABLES

SMOKE = ("--config=study=smoke",)
STUDY = "configs/studies/smoke.yaml"
STRICTER = """
_as_it_was = grade_choice


def grade_choice(text: str, gold: str) -> Verdict:
    verdict = _as_it_was(text, gold)
    return Verdict("wrong", "D") if verdict == Verdict("correct", "D") else verdict
"""
"""Appended to the grader of letters: no D is correct."""


@pytest.fixture(scope="module")
def finished(uninterrupted, tmp_path_factory) -> Copy:
    """A copy in which the smoke study has run."""
    return Copy(tmp_path_factory.mktemp("finished"), uninterrupted)


def restore(copy: Copy, file: str) -> None:
    shutil.copy2(REPOSITORY / file, copy.folder / file)


def test_bad_input_is_one_clear_error_before_any_job(fresh):
    path = fresh.folder / "configs/methods/ict-10.yaml"
    path.write_text(path.read_text().replace("percent: 10", "percent: 120", 1))
    result = fresh.snakemake()
    assert result.returncode != 0
    assert "ict-10.yaml: percent: 120 " in result.stdout and "Traceback" not in result.stdout
    assert [made.name for made in (fresh.folder / "results").iterdir()] == ["reference"]


@pytest.mark.slow
def test_a_failed_run_ends_with_the_failed_cells_and_a_full_disk_is_told_before(fresh):
    (fresh.folder / "ict_core/training/pretrain.py").write_text("raise RuntimeError('no such luck')")
    result = fresh.snakemake("base_models", *SMOKE)
    assert result.returncode == 1
    end = result.stdout[result.stdout.index("failed: ") :]
    for seed in (0, 1):
        assert f"failed: pretrain/mini-xs/base/seed-{seed}: RuntimeError: no such luck\n" in end
    assert "Study smoke: failed; logs in results/smoke/logs/. What is finished is kept" in end
    fresh.append("ict_core/process/failures.py", "\nLEAST_MIB = 10**9\n")
    result = fresh.snakemake(*SMOKE)
    assert result.returncode == 1 and "Traceback" not in result.stdout
    assert "and 1000000000 are needed to begin; the disk is full" in result.stdout


SPOILED = {
    "utf-16": "study: x\n".encode("utf-16"),
    "deep": b"[" * 20_000,
    "template": b"__use_yte__: true\nstudy: template\n",
}


WRONG = {  # what a call gives, and what it is told
    "--config=study=other": "configs/studies/other.yaml: no such file",
    "--config=study=utf-16.yaml": "utf-16.yaml: byte 1 is no UTF-8",
    "--config=study=deep.yaml": "deep.yaml: nested too deep",
    "--config=study=template.yaml": "template.yaml: __use_yte__: ",
    "--config=seeds=3": "--config=seeds: ",
    "--config=study=smoke --configfile=configs/studies/mini.yaml": "give one study, not 2",
}


@pytest.mark.long
def test_a_target_may_stand_before_and_behind_the_study_and_a_wrong_study_is_told(fresh):
    for name, content in SPOILED.items():
        (fresh.folder / f"{name}.yaml").write_bytes(content)
    data, given = "results/smoke/data/eval.parquet", ("--config=study=smoke", f"--configfile={STUDY}")
    calls = [*((words, "tables") for words in WRONG), *((words, data) for words in given)]
    calls = [order for words, target in calls for order in ([*words.split(), target], [target, *words.split()])]
    printed = fresh.snakemakes([["--dry-run", *call] for call in calls])
    told = [said for said in WRONG.values() for _ in range(2)]
    for call, said, output in zip(calls, told, printed, strict=False):
        assert said in output and "Traceback" not in output, call
    assert [jobs(output) for output in printed[len(told) :]] == [Counter(data=1)] * 4


@pytest.mark.slow
def test_a_job_runs_the_library_beside_the_workflow_and_not_that_of_its_environment(tmp_path):
    copy = Copy(tmp_path)
    copy.append("ict_core/stages/data.py", "\nraise SystemExit('the library of the copy')\n")
    del copy.environment["PYTHONPATH"]
    data = "results/smoke/data/train.parquet"
    assert copy.snakemake(data, "--configfile", STUDY).returncode != 0
    assert "the library of the copy" in StudyFiles(copy.folder / "results/smoke").log_of("data").read_text()


@pytest.mark.slow
def test_every_training_seed_begins_with_a_base_model_of_its_own(fresh):
    plan = fresh.made("--dry-run", "-p", *SMOKE)
    assert jobs(plan) >= Counter(pretrain=2, train=4, generate=6, grade=6)
    assert re.search(r"^rule all:\n    input: \d+ files\n    jobid: 0\n    reason: [\w ]+\n", plan, re.MULTILINE)
    began = re.findall(r"ict train .* --seed (\d) --base \S+/base/seed-(\d)/model", plan)
    assert Counter(began) == {("0", "0"): 2, ("1", "1"): 2}
    made = re.findall(r"ict pretrain .* --seed (\d) .* --out \S+/base/seed-(\d)/model", plan)
    assert sorted(made) == [("0", "0"), ("1", "1")]


@pytest.mark.slow
def test_every_output_is_there_and_a_second_run_does_nothing(finished):
    results = finished.folder / "results/smoke"
    for name in TABLES:
        assert all((results / "tables" / f"{name}.{suffix}").stat().st_size for suffix in ("csv", "md", "tex"))
    for name in FIGURES:
        assert (results / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (results / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    scores = pd.read_parquet(results / "scores.parquet")
    assert set(scores["variant"]) == {"base", "grpo", "ict-10"}
    assert (scores["sampled"] == 4).all()
    assert finished.planned(*SMOKE) == []


@pytest.mark.slow
def test_a_study_that_cannot_tell_says_so_before_all_else(finished):
    """Two seeds of a few steps: GRPO learns nothing that could be seen, and neither oracle nor replica ran."""
    results = finished.folder / "results/smoke"
    first = (results / "answer.md").read_text().splitlines()[0]
    assert first.startswith(
        "**This study cannot tell, because** grpo is not shown to learn enough (grpo − base, pass@1 "
    )
    assert "oracle (without oracle-decisions, oracle-decisions-permuted)" in first
    for page in ("overview.html", "report.md"):
        assert (results / page).read_text().index("This study cannot tell") < 5000
    outcomes = pd.read_csv(results / "tables/validity.csv").set_index("gate")["outcome"]
    assert outcomes["gain"] == "failed" and outcomes["ceiling"] == "passed" and outcomes["oracle"] == "not measured"
    claims = {claim["id"]: claim for claim in json.loads((results / "claims.json").read_text())["claims"]}
    assert claims["gain-over-grpo"]["verdict"] == "not testable here" and claims["gain-over-grpo"]["seeds"] == 2
    assert claims["probability-of-kept"]["verdict"] not in ("not testable here", "not tested in this study")
    declared = read_manifest(results / "manifest.json")["declared"]
    assert [Path(file).name for file in declared["files"]] == ["claims.yaml", "smoke.yaml"]


@pytest.mark.slow
def test_no_manifest_names_a_place_a_machine_or_a_user(finished, uninterrupted):
    names = ("manifest", "generation", "grading", "study", "settings")
    files = [file for name in names for file in (finished.folder / "results").rglob(f"{name}.json")]
    assert len(files) > 6 * 3  # of six cells: made, answered, graded
    for text in (file.read_text() for file in files):
        assert re.findall(r'"[/~][^"]*"', text) == []
        for private in (str(uninterrupted), str(Path.home()), os.uname().nodename, f'"{getpass.getuser()}"'):
            assert private not in text


@pytest.mark.slow
def test_a_job_loads_no_file_that_its_fingerprint_does_not_cover(finished):
    results, seen = finished.folder / "results/smoke", Counter()
    manifests = [*results.glob("*/base/seed-*/model/manifest.json"), *results.glob("*/*/seed-*/train/manifest.json")]
    for file in [*manifests, *results.glob("*/*/seed-*/generation.json"), *results.glob("*/*/seed-*/grading.json")]:
        said = read_manifest(file)
        modules = [f"stages.{said['stage']}"]
        if said["stage"] == "train":
            modules.append(f"selection.{rule_files()[said['config']['method']['selector']]}")
        covered = set(map(name_of, files_of(*modules)))
        loaded = {name for name in said["source"]["loaded"] if not is_infrastructure(name)}
        assert loaded - covered == set(), file
        assert len(loaded) > len(covered) / 4  # else the manifest says next to nothing
        seen[said["stage"]] += 1
    assert min(seen[stage] for stage in ("pretrain", "train", "generate", "grade")) > 0


RERUNS = {  # an edit: the jobs of cells that it reruns, then some of the study's
    "ict_core/models/read.py": (("train", "generate", "grade"), ("collect", "statistics")),
    "ict_core/figures/entropy.py": ((), ("figure_entropy", "notebook", "report")),
    "ict_core/statistics/intervals.py": ((), ("statistics", "claims")),
    "configs/claims.yaml": ((), ("statistics", "claims")),
    "samples: 4 -> samples: 5": (("generate", "grade"), ("collect",)),
    "seconds: 5 -> seconds: 6": (("train", "generate", "grade"), ("collect",)),  # rewards are grades too
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", RERUNS)
def test_an_edit_reruns_what_reads_it_and_nothing_before(finished, edit):
    old, _, new = edit.partition(" -> ")
    file = STUDY if new else edit
    text = (finished.folder / file).read_text()
    assert not new or text.count(old) == 1
    (finished.folder / file).write_text(text.replace(old, new) if new else f"{text}\n# an edit\n")
    planned = finished.planned(*SMOKE)
    (finished.folder / file).write_text(text)
    rules = {rule for rule, _, _ in planned}
    of_cells, of_study = RERUNS[edit]
    assert {rule for rule, variant, _ in planned if variant} == set(of_cells)
    assert set(of_study) <= rules and not rules & {"data", "pretrain"}
    if edit.endswith("entropy.py"):
        assert rules == {*of_study, "all"}


@pytest.mark.slow
def test_an_edit_of_a_rule_retrains_its_own_cells_only_and_the_plan_counts_them(finished):
    file = "ict_core/selection/top_score.py"
    assert "| total | | 0 |" in plan(finished)
    finished.append(file)
    jobs, page = finished.planned(*SMOKE), plan(finished)
    restore(finished, file)
    trained = [(variant, reason) for rule, variant, reason in jobs if rule == "train"]
    assert [variant for variant, _ in trained] == ["ict-10"] * 2
    assert all("params" in reason.lower() for _, reason in trained)
    assert {variant for rule, variant, _ in jobs if rule in ("generate", "grade")} == {"ict-10"}
    assert "| train | mini-xs | 2 |" in page and "| grade | mini-xs | 2 |" in page and "| pretrain |" not in page


def plan(copy: Copy) -> str:
    return re.sub(" +", " ", copy.done("ict", "plan", "smoke"))


@pytest.mark.slow
def test_an_added_method_plans_its_own_cells_only(finished):
    study = finished.folder / STUDY
    study.write_text(study.read_text().replace("ict-10]", "ict-10, random-10]"))
    jobs = Counter((rule, variant) for rule, variant, _ in finished.planned(*SMOKE))
    restore(finished, STUDY)
    of_cells = {job: n for job, n in jobs.items() if job[1]}
    assert of_cells == {(rule, "random-10"): 2 for rule in ("train", "generate", "grade")}
    assert not {rule for rule, _ in jobs} & {"data", "contamination", "pretrain"}


@pytest.mark.slow
def test_every_page_of_a_miniature_says_so(finished):
    results = finished.folder / "results/smoke"
    words = "its numbers only show that every stage runs"
    pages = [*results.glob("tables/*.md"), *results.glob("*.md"), *results.glob("*.html")]
    assert len(pages) == len(TABLES) + 4
    assert [page.name for page in pages if words not in " ".join(page.read_text().split())] == []
    assert all(words.split()[0] in page.read_text() for page in results.glob("tables/*.tex"))


@pytest.mark.slow
def test_the_overview_of_a_run_is_whole_on_a_telephone(finished, browser):
    assert faults(browser, finished.folder / "results/smoke/overview.html") == []


@pytest.mark.long
def test_the_report_stands_alone(finished):
    printed = finished.made(*SMOKE, "--report", "report.html")
    assert "(ERROR/3)" not in printed  # of a caption that is no reStructuredText
    text = (finished.folder / "report.html").read_text()
    for category in ("1 Overview", "2 Figures", "3 Tables as CSV"):
        assert f'"{category}"' in text
    assert "the table Validity" in text  # of each figure's caption, as the study leaves benchmarks without headroom out
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="https?:', text)


@pytest.mark.long
def test_a_cell_gives_the_same_bytes_again_and_another_seed_does_not(finished):
    cell = "results/smoke/mini-xs/ict-10/seed-0"
    files = [f"{cell}/{name}" for name in ("completions.parquet", "grades.parquet")]
    files += [f"{cell}/train/{name}" for name in ("model/model.safetensors", "log.parquet", "tokens.parquet")]
    before = {file: (finished.folder / file).read_bytes() for file in files}
    told = finished.done("ict", "verify", cell, "--keep", "again")
    assert "equal: all 10 are the same" in told and "Changed since" not in told
    again = {file: (finished.folder / file.replace("results/smoke", "again")).read_bytes() for file in files}
    assert [file for file in files if again[file] != before[file]] == []
    (finished.folder / files[0]).unlink()
    finished.made(files[0], *SMOKE)
    manifest = json.loads((finished.folder / cell / "generation.json").read_text())
    # 4 samples of 4 problems of 7 benchmarks
    assert (manifest["completions"], manifest["completions_reused"], manifest["tokens"]) == (0, 4 * 4 * 7, 0)
    assert (finished.folder / files[0]).read_bytes() == before[files[0]]
    other = finished.folder / cell.replace("seed-0", "seed-1")
    assert (other / "completions.parquet").read_bytes() != before[files[0]]
    assert (other / "train/model/model.safetensors").read_bytes() != before[f"{cell}/train/model/model.safetensors"]


@pytest.mark.long
def test_a_changed_grader_is_tried_on_the_stored_completions_alone(finished):
    results, choice = finished.folder / "results/smoke", "ict_core/grading/_choice.py"
    files = {path.parent: path.read_bytes() for path in results.glob("mini-xs/*/seed-*/grades.parquet")}
    finished.append(choice, STRICTER)
    finished.append("ict_core/training/trainer.py")
    finished.append("ict_core/problems/assemble.py")
    jobs = finished.planned("regrade", *SMOKE)
    assert Counter(rule for rule, _, _ in jobs) == {"regrade_cell": 6, "regrade": 1}
    printed = finished.made("regrade", *SMOKE)
    assert finished.planned("regrade", *SMOKE) == []
    rebuilt = f"stored={results / 'regrade'}", f"results={results / 'regrade/evidence'}"
    finished.made("tables", "--snakefile", "workflow/reference.smk", "--config", *rebuilt)
    for file in (choice, "ict_core/training/trainer.py", "ict_core/problems/assemble.py"):
        restore(finished, file)

    assert {folder: (folder / "grades.parquet").read_bytes() for folder in files} == files
    cells = {folder: pd.read_parquet(folder / "grades.parquet") for folder in files}
    letters = [grades[(grades["status"] == "correct") & (grades["extracted"] == "D")] for grades in cells.values()]
    expected = {
        (*folder.relative_to(results).parts, row.benchmark, row.problem, row.sample)
        for folder, rows in zip(cells, letters, strict=True)
        for row in rows.itertuples()
    }
    flips = pd.read_csv(results / "regrade/flips.csv", dtype=str)
    answer = zip(flips["benchmark"], flips["problem"], flips["sample"].astype(int), strict=True)
    cell = zip(flips["model"], flips["variant"], "seed-" + flips["seed"], strict=True)
    assert (
        expected and {(*c, *a) for c, a in zip(cell, answer, strict=True)} == expected and len(flips) == len(expected)
    )
    assert set(zip(flips["old_status"], flips["new_status"], strict=True)) == {("correct", "wrong")}
    assert (flips[["old_extracted", "new_extracted", "gold"]] == "D").all(axis=None)
    assert f"correct -> wrong: {len(expected)}" in printed

    old, new = (pd.read_parquet(folder / "scores.parquet") for folder in (results, results / "regrade"))
    assert (old["correct"] - new["correct"]).sum() == len(expected) == (new["wrong"] - old["wrong"]).sum()
    changes = pd.read_csv(results / "regrade/changes.csv")
    assert changes["flipped"].sum() == len(expected)
    cell_of = ["model", "variant", "seed", "benchmark"]
    for name, scores in (("old_pass_at_1", old), ("new_pass_at_1", new)):
        means = (scores["correct"] / scores["n"]).groupby([scores[key] for key in cell_of]).mean().sort_index()
        assert changes.set_index(cell_of)[name].sort_index().to_numpy() == pytest.approx(means.to_numpy())
    assert "were graded anew" in (results / "regrade/evidence/tables/main.md").read_text()


@pytest.mark.slow
def test_the_first_steps_alone_repeat_and_what_differs_is_told(finished):
    cell = "results/smoke/mini-xs/grpo/seed-1"
    elsewhere = ("env", "-C", "/", "ict", "verify", str(finished.folder / cell), "--steps", "2")
    assert "log.parquet, steps 0 to 1" in finished.done(*elsewhere)
    file = finished.folder / cell / "grades.parquet"
    whole = file.read_bytes()
    grades = records.read_frame(file, records.GRADES)
    wrong = grades.assign(status=grades["status"].mask(grades.index == 0, "timeout"))
    records.write_frame(wrong, file, records.GRADES)
    result = finished.run("ict", "verify", cell, "--stages", "grade")  # one of 112
    assert result.returncode == 1 and "0.9 % of the rows, " in result.stdout, result.stdout[-3000:]
    file.write_bytes(whole)
