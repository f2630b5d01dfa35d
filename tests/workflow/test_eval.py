"""`ict eval`: one model on benchmarks without a study's file, and its numbers beside those of the workflow."""

import json
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from repository_copy import Copy

from ict_core.commands.cli import main
from ict_core.commands.evaluation import stated_model, work_folder
from ict_core.errors import UserError
from ict_core.statistics.analysis import analyse
from ict_core.statistics.arms import run_frame
from ict_core.statistics.contrasts import Comparisons
from ict_core.store import records

SETTINGS = ("--samples", "4", "--problems", "4", "--max-new-tokens", "112", "--portable")
CHECKPOINT = "results/smoke/mini-xs/base/seed-0/model"


@pytest.mark.long
def test_its_numbers_are_those_of_the_workflow_for_the_same_settings(uninterrupted, tmp_path):
    copy = Copy(tmp_path / "copy", uninterrupted)
    out = tmp_path / "out"
    benchmarks = "mini-word,mini-stem"
    command = ("ict", "eval", CHECKPOINT, "--benchmarks", benchmarks, *SETTINGS, "--out", str(out))
    printed = copy.done(*command)
    assert "| mini-word |" in printed and "completion" in printed  # the progress of the sampling
    assert sorted(path.name for path in out.iterdir()) == ["answers.parquet", "results.json"]
    cell = uninterrupted / "results/smoke/mini-xs/base/seed-0"
    completions = records.read_frame(cell / "completions.parquet", records.COMPLETIONS)
    answers = records.read_frame(out / "answers.parquet", records.ANSWERS)
    key = ["benchmark", "problem", "sample"]
    both = answers.merge(completions, on=key, suffixes=("", "_of_study"))
    assert len(both) == len(answers) == 2 * 4 * 4
    assert (both["text"] == both["text_of_study"]).all() and (both["seed"] == both["seed_of_study"]).all()
    told = json.loads((out / "results.json").read_text())
    scores = records.read_frame(uninterrupted / "results/smoke/scores.parquet", records.SCORES).query("seed == 0")
    base = scores[(scores["variant"] == "base") & scores["benchmark"].isin(benchmarks.split(","))]
    runs = run_frame(base, ["pass@1", "pass@4"]).set_index(["benchmark", "metric"])["value"]
    levels = analyse(scores, ["grpo"], Comparisons(["grpo"], {}, (), 0.02, 0.8))["levels"].query("variant == 'base'")
    levels = levels.set_index(["benchmark", "metric"])
    for benchmark in (*benchmarks.split(","), "average"):
        for metric in ("pass@1", "pass@4"):
            assert told["results"][benchmark][metric] == pytest.approx(runs[benchmark, metric], abs=1e-12)
            if benchmark != "average":  # the study's is over more benchmarks
                for limit in ("low", "high"):
                    expected = levels.loc[(benchmark, metric), limit]
                    found = told["results"][benchmark][f"{metric}_{limit}"]
                    assert found == pytest.approx(expected) if found is not None else pd.isna(expected)
    assert set(told["results"]) == {*benchmarks.split(","), "average"}
    assert told["model_name"] == CHECKPOINT and told["config"]["evaluation"]["samples"] == 4
    assert set(told) >= {"results", "config", "versions", "git_hash", "date", "total_evaluation_time_seconds"}
    again = copy.run(*command)
    assert again.returncode == 2 and "give another --out" in again.stdout


def test_an_interrupted_call_goes_on_in_a_folder_of_its_own_and_touches_no_other_file(tmp_path):
    (tmp_path / "work").mkdir()
    with pytest.raises(KeyboardInterrupt), work_folder(tmp_path, "a") as work:
        (work / "cache").mkdir()
        raise KeyboardInterrupt
    with work_folder(tmp_path, "b") as other:
        assert not (other / "cache").exists()
    with work_folder(tmp_path, "a") as again:
        assert (again / "cache").exists()
        with pytest.raises(UserError, match="another `ict eval`"), work_folder(tmp_path, "a"):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    parts = {"cache": False, "model.0a1b.partial": True, "cache/a.parquet": True}  # a download, or answers, broken off
    for part, kept in parts.items():
        with pytest.raises(UserError, match="lost"), work_folder(tmp_path, "c") as work:
            (work / part).mkdir(parents=True)
            raise UserError("the connection was lost")
        assert work.exists() == kept
        shutil.rmtree(work, ignore_errors=True)


def test_a_folder_comes_before_a_name_and_is_copied_anew(tiny_checkpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_checkpoint, "smollm2-135m")
    work = tmp_path / "work"
    model = stated_model(work, "smollm2-135m", "m")
    assert model.kind == "local" and Path(model.path).name == "smollm2-135m"
    assert "folder here" in capsys.readouterr().err
    fetched = work / "model"
    for kept in (False, True):
        fetched.mkdir()
        if kept:
            shutil.rmtree("smollm2-135m")  # the project's model of this name: another file than before
        assert stated_model(work, "smollm2-135m", "m").kind == ("package" if kept else "local")
        assert not fetched.exists()
    fetched.mkdir()
    stated_model(work, "smollm2-135m", "m")
    assert fetched.exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--benchmarks", "mini-word,mini-wrod", "--benchmarks: 'mini-wrod' is not allowed"),
        ("--benchmarks", "mini-word,mini-word", "--benchmarks: 'mini-word' is named more than once"),
        ("--samples", "0", "'--samples'"),
        ("--temperature", "0", "'--temperature': 0 is not allowed"),
        ("--top-p", "1.5", "'--top-p'"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_fetched(
    monkeypatch, capsys, tmp_path, option, value, message
):
    monkeypatch.setattr("ict_core.tools.model_file.model_file", None)
    options = {"--benchmarks": "mini-word", "--out": str(tmp_path / "out")} | {option: value}
    assert main(["eval", "owner/model", *(word for pair in options.items() for word in pair)]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


def mended(told: str) -> list[str]:
    """The call that stands in the last line of a refusal."""
    return shlex.split(told.splitlines()[-1])


def test_a_refusal_ends_in_the_call_that_would_do(monkeypatch, capsys, tmp_path, tiny_checkpoint):
    """A misspelt benchmark, one named twice, a misspelt model, and more tokens than the model can hold."""
    monkeypatch.chdir(tmp_path)
    rest = ["--samples", "4", "--problems", "2", "--portable", "--out", "a folder"]
    for named in ("mini-word,mini-stm", "mini-word,mini-stem,mini-word"):
        assert main(["eval", "owner/model", "--benchmarks", named, *rest]) == 2
        told = mended(capsys.readouterr().err)
        assert told[:5] == ["ict", "eval", "owner/model", "--benchmarks", "mini-word,mini-stem"]
        assert sorted(told[5:]) == sorted(rest)
    assert main(["eval", "owner/model", "--benchmarks", "xyz", *rest]) == 2
    assert mended(capsys.readouterr().err)[0] == "error:"

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with monkeypatch.context() as patched:
        patched.setattr("ict_core.tools.model_file.model_file", refuse)
        assert main(["eval", "smollm2-135", "--benchmarks", "mini-word", "--temperature", "0.5", "--portable"]) == 2
    told = ["ict", "eval", "smollm2-135m", "--benchmarks", "mini-word", "--temperature", "0.5", "--portable"]
    assert mended(capsys.readouterr().err) == told

    for scratch in ("mini-xs", "mini-x"):  # a study's own, or near to one
        with monkeypatch.context() as patched:
            patched.setattr("ict_core.tools.model_file.model_file", refuse)
            assert main(["eval", scratch, "--benchmarks", "mini-word", "--portable"]) == 2
        assert mended(capsys.readouterr().err)[0] == "error:"

    call = ["eval", str(tiny_checkpoint), "--benchmarks", "mini-word", "--problems", "2", "--engine", "transformers"]
    assert main([*call, "--portable", "--samples", "4", "--max-new-tokens", "160"]) == 2
    told = mended(capsys.readouterr().err)
    fits = int(told[told.index("--max-new-tokens") + 1])
    assert 0 < fits < 160 and main(told[1:]) == 0
    assert (tmp_path / "eval-model/results.json").exists()


def refuse(model, name, work):
    raise UserError(f"{model}: there is no such folder")


@pytest.mark.slow
def test_a_folder_that_is_no_model_and_one_that_a_study_makes_are_refused(uninterrupted, tmp_path):
    copy = Copy(tmp_path / "copy", uninterrupted)
    for model, message in (("mini-xs", "is trained by a study"), (str(tmp_path), "cannot be")):
        done = copy.run("ict", "eval", model, "--benchmarks", "mini-word", "--out", str(tmp_path / "out"))
        assert done.returncode == 2 and message in done.stdout, done.stdout
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
