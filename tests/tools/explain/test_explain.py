"""From a number in a table back to its runs: on the stored study, and on a made-up one whose every link is broken."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from ict_core.commands.cli import main
from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.evidence.collect import score_grades
from ict_core.store import records
from ict_core.store.files import hash_weights
from ict_core.store.manifests import file_hashes, read_manifest, write_manifest
from ict_core.tables.registry import TABLES
from ict_core.tools.explain.explain import explain
from ict_core.tools.explain.numbers import chosen_row, entering, recomputed, table_of
from ict_core.tools.place import Place
from ict_core.tools.walk import walk

ROOT = Path(__file__).resolve().parents[3]
MINI = ROOT / "results/reference/mini"
CELL = Cell("m", "ict-10", 3)


def test_every_table_has_an_origin_whose_module_and_page_exist():
    for origin in TABLES.values():
        assert (ROOT / "ict_core" / origin.module).exists()
        page, _, anchor = origin.doc.partition("#")
        headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings]


@pytest.mark.parametrize("name", [name for name in TABLES if name != "near_duplicates"])
def test_keys_name_one_row_and_its_number_follows_from_the_stored_runs(name):
    """The code computes again what it wrote: nothing has changed. The next two tests compute by themselves."""
    origin, rows = table_of(MINI / f"tables/{name}.csv")
    assert not rows.duplicated(list(origin.keys)).any()
    for _, row in rows.iloc[:: max(1, len(rows) - 1)].iterrows():
        text, sound = explain(MINI / f"tables/{name}.csv", ",".join(f"{key}={row[key]}" for key in origin.keys))
        assert sound and f"ict_core/{origin.module}" in text
        follows = origin.follow and row.get("source") != "paper" and row.get("mean") != ""
        assert ("recomputed from scores.parquet" in text) == follows


def test_a_contrast_of_the_stored_study_by_hand():
    text, sound = explain(MINI / "tables/contrasts.csv", "mini-s/ict-10/grpo/mini-word/pass@1")
    scores = pd.read_parquet(MINI / "scores.parquet")
    word = scores[(scores["model"] == "mini-s") & (scores["benchmark"] == "mini-word")]
    share = (word["correct"] / word["n"]).groupby([word["variant"], word["seed"]]).mean()
    values = ", ".join(f"{share['ict-10', seed]:.10g}" for seed in range(6))
    assert sound and f"mini-s/ict-10, seeds 0, 1, 2, 3, 4, 5: {values}\n" in text
    difference = (share["ict-10"] - share["grpo"]).mean()
    assert f"recomputed from scores.parquet: {difference:.10g}, as printed" in text
    assert "not here] verdicts, completions" in text
    last = text.splitlines()[-1]
    assert last.startswith("sound ") and "12 runs, difference as printed" in last and "12 links hold;" in last
    job = next(j for j in read_manifest(MINI / "manifest.json")["jobs"] if j["stage"] == "train")
    assert f"base {job['base_sha256'][:16]}" in text


def test_a_mean_is_of_all_runs_of_a_variant_and_a_difference_of_the_seeds_that_its_reference_shares():
    """One problem of ten samples: 4, 6 and 8 correct with seeds 0 to 2, and 3 in the reference's seeds 1 and 5."""
    runs = [("ict-20", 0, 4), ("ict-20", 1, 6), ("ict-20", 2, 8), ("ict-10", 1, 3), ("ict-10", 5, 3)]
    rows = [
        dict.fromkeys(records.SCORES, 0)
        | {"model": "m", "variant": variant, "seed": seed, "benchmark": "b", "problem": "p"}
        | {"sampled": 10, "n": 10, "correct": right, "wrong": 10 - right}
        for variant, seed, right in runs
    ]
    scores = pd.DataFrame(rows)[list(records.SCORES)]
    row = {"model": "m", "variant": "ict-20", "reference": "ict-10", "metric": "pass@1"}
    printed = row | {"mean": "0.6", "difference": "0.3"}
    found = entering(TABLES["ablations"], printed, scores)
    assert [one.seeds for one in found] == [(0, 1, 2), (1,)]
    assert [(one.name, one.equal) for one in recomputed(TABLES["ablations"], printed, found)] == [
        ("mean", True),
        ("difference", True),
    ]
    apart = entering(TABLES["ablations"], printed, scores[(scores["variant"] != "ict-10") | (scores["seed"] == 5)])
    assert [one.name for one in recomputed(TABLES["ablations"], printed, apart)] == ["mean"]
    contrast = row | {"baseline": "ict-10", "difference": "0.3"}
    assert [one.seeds for one in entering(TABLES["contrasts"], contrast, scores)] == [(1,), (1,)]


def test_a_printed_number_that_its_runs_do_not_give_is_told(tmp_path, capsys):
    for file in ("scores.parquet", "manifest.json", "study.json"):
        shutil.copy(MINI / file, tmp_path)
    (tmp_path / "tables").mkdir()
    row = "mini-s,grpo,average,pass@1,0.5,0,1,2,two-way,0,1,3,250"
    (tmp_path / "tables/main.csv").write_text(f"{(MINI / 'tables/main.csv').read_text().splitlines()[0]}\n{row}\n")
    assert main(["explain", str(tmp_path / "tables/main.csv"), "--cell", "mini-s"]) == 1
    printed = capsys.readouterr().out
    assert "NOT the printed 0.5" in printed
    assert re.match("NOT SOUND: .*: mean; not checked: verdicts,", printed.splitlines()[-1])


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        ("mini-s/ict-11", "no row with variant 'ict-11' among these; allowed: 'base', 'grpo'"),
        ("mini-s/ict-10", r"24 rows of .*\(model/.*/metric\):\n  mini-s/ict-10/average/pass@1\n(.*\n)+  and 12"),
        ("a/b/c/d/e", "more values than key columns"),
        ("colour=red", "no column colour"),
    ],
)
def test_a_selection_of_no_row_or_of_several_names_candidates(selection, told):
    origin, rows = table_of(MINI / "tables/main.csv")
    with pytest.raises(UserError, match=told):
        chosen_row(MINI / "tables/main.csv", origin, rows, selection)


def test_a_row_is_named_as_it_is_proposed_even_if_a_value_has_a_slash():
    file = MINI / "tables/update.csv"
    origin, rows = table_of(file)
    wanted = rows[rows["regime"].str.contains("/")].iloc[0]
    assert chosen_row(file, origin, rows, "/".join(wanted[list(origin.keys)])).equals(wanted)


def test_of_a_rule_with_a_source_the_runs_of_rule_and_control_enter():
    table = ROOT / "results/reference/mini-readings/tables/bench.csv"
    row = table_of(table)[1].iloc[0]
    text, sound = explain(table, f"mini-s/{row['variant']}/{row['against']}/own")
    assert row["source"] and sound and f"{2 * int(row['seeds'])} runs, " in text.splitlines()[-1]
    scores = pd.read_parquet(MINI / "scores.parquet")
    names = {"model": "mini-s", "variant": "ict-10", "metric": "pass@1"}
    at_own, at_shared = (entering(TABLES["rates"], {**names, "rates": r}, scores) for r in ("own", "shared"))
    assert [run.variant for run in at_own] == ["ict-10"] and at_shared == []  # of the shared rate other cells enter


def test_what_is_no_table_is_refused(tmp_path):
    for name, told in (("scores.parquet", "no table of a study"), ("main.csv", "no such")):
        with pytest.raises(UserError, match=told):
            table_of(tmp_path / name)
    (tmp_path / "main.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="no column model"):
        table_of(tmp_path / "main.csv")


def facts(**more: object) -> dict[str, object]:
    return {
        "source": {"commit": "c" * 40, "dirty": True, "sha256": "d" * 64},
        "platform": {"cpu": "a processor", "gpus": ["a GPU"]},
        "packages": {"torch": "9"},
        "python": "3.11",
        **more,
    }


@pytest.fixture
def study(tmp_path) -> Path:
    """A study of one made-up cell with all the files that a run leaves."""
    results = tmp_path / "results/made"
    prompts = pd.DataFrame([("b", p, "?", "[]", "?", "4", "number") for p in "pq"], columns=list(records.PROBLEMS))
    for name in ("train", "eval"):
        records.write_frame(prompts, results / f"data/{name}.parquet", records.PROBLEMS)
    write_manifest(results / "study.json", {"models": {"m": {"kind": "hub"}}})
    problems = records.frame_hash(prompts, records.PROBLEMS)
    base, folder = results / "m/base/seed-0/model", results / "m/ict-10/seed-3"
    (folder / "train/model").mkdir(parents=True)
    base.mkdir(parents=True)
    (base / "model.safetensors").write_bytes(b"base")
    (folder / "train/model/model.safetensors").write_bytes(b"trained")
    weights, began = hash_weights(folder / "train/model"), hash_weights(base)
    write_manifest(base / "manifest.json", facts(model_sha256=began, files=file_hashes(base)))
    config = {"seed": 3, "method": {"name": "ict-10", "replica": None}, "training": {"steps": 6, "threads": 1}}
    made = facts(config=config, model_sha256=weights, base_sha256=began, problems_sha256=problems)
    write_manifest(folder / "train/manifest.json", {**made, "files": file_hashes(folder / "train")})
    texts = prompts[["benchmark", "problem"]].assign(sample=0, seed=1, text=["4\n", "<b>5\x1b[2J"], tokens=1)
    texts = texts.assign(finish_reason="stop", logprob=-1.0)
    grades = texts[["benchmark", "problem", "sample", "finish_reason", "tokens"]].assign(
        status=["correct", "wrong"], extracted="4"
    )
    records.write_frame(texts, folder / "completions.parquet", records.COMPLETIONS)
    records.write_frame(grades, folder / "grades.parquet", records.GRADES)
    completions = {"completions_sha256": records.frame_hash(texts, records.COMPLETIONS), "problems_sha256": problems}
    engine = {"engine": "vllm", "engine_version": "1", "model_sha256": weights}
    sampling = {"temperature": 1.0, "top_p": 1.0, "max_new_tokens": 8, "samples": 1}
    generated = facts(**completions, **engine, config={"evaluation": sampling})
    write_manifest(folder / "generation.json", generated)
    graded = facts(**completions, grades_sha256=records.frame_hash(grades, records.GRADES))
    write_manifest(folder / "grading.json", graded)
    records.write_frame(score_grades(grades, CELL), results / "scores.parquet", records.SCORES)
    (results / "tables").mkdir()
    (results / "tables/statuses.csv").write_text("model,variant,seed,sampled,correct\nm,ict-10,3,2,0.5\n")
    return results


def broken(results: Path) -> list[str]:
    """The links of the cell that do not hold."""
    scores = records.read_frame(results / "scores.parquet", records.SCORES)
    steps = walk(Place(results, CELL, base_number=0), scores)
    return [link.what for step in steps for link in step.links if not link.holds]


def test_a_whole_chain_and_the_samples_of_a_problem(study, capsys):
    table = str(study / "tables/statuses.csv")
    assert broken(study) == []
    assert main(["explain", table, "--cell", "m/ict-10/3", "--samples", "b/q"]) == 0
    printed = capsys.readouterr().out
    assert "results/made/m/ict-10/seed-3/train/manifest.json\n" in printed
    assert "commit cccccccccccc with changes, library dddd" in printed
    for words in ("seed 3\n", "method name ict-10\n", "training steps 6\n"):
        assert words in printed
    assert "  b/q, sample 0: wrong\n    | <b>5\\x1b[2J\n" in printed and "b/p, sample" not in printed
    assert "\nThe problem b/q\n  question:\n    | ?\n  gold answer:\n    | 4\n" in printed
    assert printed.index("gold answer") < printed.index("sample 0")
    last = printed.splitlines()[-1]
    assert last.startswith("sound ") and "1 runs, 13 links hold;" in last and "went wrong" not in printed
    log = pd.DataFrame(0.5, index=range(8), columns=list(records.STUDY_LOG)).assign(truncated_share=0.3)
    log = log.assign(model="m", variant="ict-10", seed=3, step=range(8), selecting=True, tokens=9)
    records.write_frame(log, study / "train_log.parquet", records.STUDY_LOG)
    assert main(["explain", table, "--cell", "m/ict-10/3"]) == 0
    assert "cut 0.3 at the end, from step 0\n" in capsys.readouterr().out
    assert main(["explain", table, "--cell", "m", "--samples", "b/r"]) == 2
    assert "problem; allowed: b/p, b/q" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "selection"),
    [
        ("tables/contamination.csv", "mini-word"),
        ("tables/paper.csv", "average/pass@4/grpo/paper/0.5B"),
        ("claims.json", "beats-kl"),
        ("tables/tuning.csv", "mini-s/grpo/0.0014/900"),
    ],
)
def test_where_no_run_enters_there_is_nothing_to_check(table, selection):
    text, sound = explain(MINI / table, selection)
    assert sound and text.splitlines()[-1] == "nothing to check: no training run enters it"


def test_each_broken_link_is_named(study):
    cell = study / "m/ict-10/seed-3"
    base = study / "m/base/seed-0/model"
    stated = {  # by each manifest, of what its stage read and wrote
        "grade": (cell / "grading.json", ("problems", "completions", "grades")),
        "generate": (cell / "generation.json", ("problems", "model", "completions")),
        "train": (cell / "train/manifest.json", ("problems", "base", "model")),
        "base": (base / "manifest.json", ("model",)),
    }
    for stage, (file, names) in stated.items():
        whole = file.read_bytes()
        for name in names:
            key, content = f"{name}_sha256", read_manifest(file)
            for stated_hash, shown in (({key: "0" * 64}, "0000000000000000"), ({}, "not stated")):
                write_manifest(file, {other: content[other] for other in content if other != key} | stated_hash)
                (fault,) = broken(study)
                assert fault.startswith(f"{stage}: {key}") and shown in fault
            file.write_bytes(whole)
    assert broken(study) == []


def test_other_bytes_and_missing_files_break_the_chain_and_stay_where_they_are(study, capsys):
    weights = study / "m/ict-10/seed-3/train/model/model.safetensors"
    weights.write_bytes(b"trainee")
    by_hash, by_training, by_file = broken(study)
    assert by_hash.startswith("generate: model_sha256") and by_training.startswith("train: model_sha256")
    assert by_file.startswith(str(weights))
    assert main(["explain", str(study / "tables/statuses.csv"), "--cell", "m"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("NOT SOUND: 3 broken links")
    assert weights.exists()  # looking at a damaged file sets nothing aside
    weights.write_bytes(b"trained")
    scores = records.read_frame(study / "scores.parquet", records.SCORES)
    records.write_frame(scores.assign(correct=0, wrong=1), study / "scores.parquet", records.SCORES)
    assert broken(study) == ["scores.parquet counts these verdicts"]
    (study / "m/ict-10/seed-3/grades.parquet").unlink()
    assert "no such file" in broken(study)[0]
    (study / "m/ict-10/seed-3/grades.parquet").mkdir()
    assert "a folder stands" in broken(study)[0]
    shutil.rmtree(study / "m/ict-10/seed-3")  # of a study that has run, and not of a stored one
    assert main(["explain", str(study / "tables/statuses.csv"), "--cell", "m"]) == 1
    assert "[BROKEN] " in capsys.readouterr().out


def test_a_cell_that_is_stored_apart_is_followed_by_the_study_s_manifest(study, capsys, monkeypatch):
    cell, apart = study / "m/ict-10/seed-3", study.parent / "cells/made/m/ict-10/seed-3"
    table = str(study / "tables/statuses.csv")
    ran = {"train": cell / "train/manifest.json", "generate": cell / "generation.json", "grade": cell / "grading.json"}
    ran = {"fetch": study / "m/base/seed-0/model/manifest.json", **ran}
    jobs = [
        {**read_manifest(file), **(Cell("m", "base", 0) if stage == "fetch" else CELL)._asdict(), "stage": stage}
        | {"environment": 0, "source": 0}
        for stage, file in ran.items()
    ]
    shared = {"environments": [facts()], "sources": [facts()["source"]]}
    write_manifest(study / "manifest.json", {"jobs": jobs, **shared})
    shutil.rmtree(cell)
    assert main(["explain", table, "--cell", "m"]) == 1
    write_manifest(apart / "cell.json", {})
    for folder in (cell, cell / "train"):  # the second: a base model is made again for the trainings that start from it
        assert main(["explain", table, "--cell", "m", "--samples", "b/q"]) == 0
        printed = capsys.readouterr().out
        assert printed.splitlines()[-1].startswith("sound as far") and "b/q: the completions are not here" in printed
        folder.mkdir(parents=True)
    for here, typed in {study.parent: "made/tables/statuses.csv", study / "tables": "statuses.csv"}.items():
        monkeypatch.chdir(here)
        assert main(["explain", typed, "--cell", "m"]) == 0


@pytest.mark.parametrize("file", ["scores.parquet", "tables/statuses.csv"])
def test_a_damaged_file_of_the_study_itself_is_broken_and_stays_where_it_is(study, capsys, file):
    (study / file).write_bytes(b"")
    assert main(["explain", str(study / "tables/statuses.csv"), "--cell", "m"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith(f"[BROKEN] {study / file}: not a ")
    assert printed[-1].startswith("NOT SOUND: ") and f"; delete {study / file} and " in printed[-1]
    assert (study / file).read_bytes() == b""
