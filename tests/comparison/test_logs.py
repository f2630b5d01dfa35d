"""Logs that the tools themselves wrote (`make_logs.py`), tables, and files that are none."""

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ict_core.commands.cli import main
from ict_core.comparison.compare import compare
from ict_core.comparison.logs import Wanted, read_runs
from ict_core.errors import UserError

LOGS = Path(os.environ.get("LOGS", Path(__file__).parent / "logs"))  # or those that `make logs` had written anew
HARNESS, INSPECT, LIGHTEVAL = (LOGS / name for name in ("lm_eval", "inspect", "lighteval"))


HEADER = {"eval": {"model": "m", "created": "1", "run_id": "2", "task": "t"}}
SUMMARIES = [{"id": i, "scores": {"match": {"value": "CI"[i % 2]}}} for i in range(40)]


def accuracy(*runs: object, **wanted: str) -> dict[str, float]:
    return read_runs([str(run) for run in runs], Wanted(**wanted)).groupby("model")["correct"].mean().to_dict()


def harness_lines(model: str) -> list[dict]:
    (file,) = (HARNESS / model).glob("samples_*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_samples_of_lm_evaluation_harness_are_its_own_scores(metric):
    wanted = {name: np.mean([row[metric] for row in harness_lines(name)]) for name in ("one", "two")}
    assert accuracy(HARNESS, metric=metric) == pytest.approx(wanted)


def test_a_comparison_of_its_samples_is_scipys_paired_test():
    ours, theirs = ([row["acc"] for row in harness_lines(name)] for name in ("two", "one"))
    found = compare(read_runs([str(HARNESS)], Wanted(metric="acc"))).differences.iloc[0]
    assert (found["units"], found["benchmark"]) == (24, "sums")
    assert found["p"] == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    by_family = compare(read_runs([str(HARNESS)], Wanted(metric="acc", cluster="family"))).differences.iloc[0]
    assert (by_family["over"], by_family["units"]) == ("clusters", 6)


def test_a_log_that_is_given_twice_is_refused_but_under_two_names():
    one = next((HARNESS / "one").glob("samples_*.jsonl"))
    with pytest.raises(UserError, match=f"{one.name}: given twice"):
        read_runs([str(HARNESS / "one"), str(one)], Wanted(metric="acc"))
    found = read_runs([f"first={one}", f"second={one}"], Wanted(metric="acc"))
    assert set(found.groupby("model").size()) == {24}


def test_a_number_that_stands_for_two_problems_is_refused(tmp_path):
    rows = [row | {"doc_hash": "another"} if row["doc_id"] == 3 else row for row in harness_lines("two")]
    file = broken(tmp_path, SAMPLES, "\n".join(map(json.dumps, rows)).encode())
    (file.parent / SAMPLES.replace("_t_", "_sums_")).write_bytes(file.read_bytes())
    file.unlink()
    with pytest.raises(UserError, match="problem 3 of sums"):
        read_runs([str(HARNESS / "one"), str(file.parent)], Wanted(metric="acc"))


def test_names_of_a_table_reach_no_terminal_as_they_are():
    answers = pd.DataFrame({"model": ["a", "b\x1b[2J"] * 2, "problem": [1, 1, 2, 2], "correct": [0, 1, 1, 1]})
    assert set(compare(answers).levels["model"]) == {"a", r"b\x1b[2J"}


def test_logs_of_inspect_in_both_forms_are_the_answers_that_were_mocked():
    frame = read_runs([str(INSPECT)], Wanted())
    assert frame.groupby(["model", "problem"])["correct"].agg(["size", "sum"]).reset_index().to_numpy().tolist() == [
        *(["mockllm/one", str(place), 2, right] for place, right in ((2, 1), (3, 1), (4, 1), (5, 1))),
        *(["mockllm/two", str(place), 2, right] for place, right in ((2, 2), (3, 2), (4, 1), (5, 2))),
    ]


def inspect_log(folder: Path, task: str, *scorers: str, values: str | list = "CI", model: str = "m") -> Path:
    """A log in which each sample has one value by all scorers."""
    samples = [{"id": i, "scores": {name: {"value": value} for name in scorers}} for i, value in enumerate(values)]
    header = {"version": 2, "status": "success", "eval": HEADER["eval"] | {"task": task, "model": model}}
    return broken(folder, f"{model}-{task}.json", json.dumps(header | {"samples": samples}).encode())


def test_a_metric_that_one_task_has_is_wanted_only_where_there_are_several(tmp_path):
    runs = [str(inspect_log(tmp_path, "x", "match", "includes")), str(inspect_log(tmp_path, "y", "g"))]
    assert read_runs(runs, Wanted(metric="match")).groupby("benchmark")["correct"].sum().to_dict() == {"x": 1, "y": 1}
    for run, metric in ((runs, "g"), (runs, "mach"), (runs[1:], "match"), (runs[:1], None)):
        with pytest.raises(UserError, match=r"metric"):
            read_runs(run, Wanted(metric=metric))
    other = str(inspect_log(tmp_path, "x", "g", model="n"))
    with pytest.raises(UserError, match="some logs of x have match and others g"):
        read_runs([runs[0], other], Wanted(metric="match"))
    with pytest.raises(UserError, match="no log has a filter strict; allowed: none"):
        read_runs([str(HARNESS)], Wanted(metric="acc", filter="strict"))
    assert len(read_runs([str(HARNESS)], Wanted(metric="acc", filter="none"))) == 48
    for run in (runs[1], str(LIGHTEVAL)):
        with pytest.raises(UserError, match="strict; allowed: none is there"):
            read_runs([run], Wanted(filter="strict"))


def test_a_sample_of_inspect_without_a_score_was_not_graded(tmp_path):
    run = str(inspect_log(tmp_path, "x", "match", values=["C", float("nan"), "I"]))
    assert read_runs([run], Wanted())["correct"].tolist()[::2] == [1, 0]
    assert read_runs([run], Wanted())["correct"].isna().tolist() == [False, True, False]
    run = str(inspect_log(tmp_path, "z", "match", values=["C", 0.5]))
    with pytest.raises(UserError, match="0.5; allowed: 0 or 1"):
        read_runs([run], Wanted())


def test_details_of_lighteval_are_its_own_scores():
    (file, *_) = sorted(LIGHTEVAL.rglob("*.parquet"))
    wanted = np.mean([row["acc"] for row in pd.read_parquet(file)["metric"]])
    assert accuracy(f"one={file}") == {"one": pytest.approx(wanted)}
    assert len(accuracy(LIGHTEVAL)) == 2


def test_problems_of_lighteval_are_paired_by_their_ids_as_each_log_has_an_order_of_its_own():
    frame = read_runs([str(LIGHTEVAL)], Wanted(cluster="query"))
    queries = frame.groupby("problem")["cluster"].unique()
    assert len(queries) == 24 and all(len(texts) == 1 for texts in queries)
    assert frame["problem"].tolist()[:24] != sorted(frame["problem"].tolist()[:24], key=int)


def test_folders_name_the_models_also_from_within(monkeypatch):
    monkeypatch.chdir(HARNESS / "one")
    assert [*accuracy(".", "../two", metric="acc")] == ["one", "two"]
    (file,) = (LIGHTEVAL / "details/one").rglob("*.parquet")
    for folder, path in ((file.parent, file.name), (LIGHTEVAL / "details", "one")):
        monkeypatch.chdir(folder)
        assert [*accuracy(path)] == ["one"]


def test_a_folder_with_the_name_of_a_log_is_none(tmp_path):
    (tmp_path / "log.json").mkdir()
    (tmp_path / "one").symlink_to(HARNESS / "one")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nothing")
    with pytest.raises(UserError, match="no log in this folder"):
        read_runs([str(tmp_path)], Wanted())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93])
def test_a_log_whose_bytes_have_changed_is_refused(tmp_path, method):
    """One byte of the answers: wherever it stands, nothing but what was written is read."""
    (whole,) = INSPECT.glob("*.eval")
    if method == 93:  # Zstandard, as Inspect writes it
        content = whole.read_bytes()
    else:
        wanted = {"header": json.dumps(HEADER), "summaries": json.dumps(SUMMARIES)}
        with zipfile.ZipFile(tmp_path / "whole.eval", "w", method) as archive:
            for name, text in wanted.items():
                archive.writestr(f"{name}.json", text)
        content = (tmp_path / "whole.eval").read_bytes()
        assert len(read_runs([str(tmp_path / "whole.eval")], Wanted())) == len(SUMMARIES)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        member = archive.getinfo("summaries.json")
    start = member.header_offset + 30 + len(member.filename)
    for at in range(start, start + member.compress_size, 1 + member.compress_size // 40):
        file = broken(tmp_path, "x.eval", content[:at] + bytes([content[at] ^ 0x5A]) + content[at + 1 :])
        with pytest.raises(UserError, match=r"x\.eval"):
            read_runs([str(file)], Wanted())


def test_two_logs_of_one_model_are_its_runs_also_if_a_task_was_run_alone(tmp_path):
    for time in ("2026-01-01T00-00-00.0", "2026-01-02T00-00-00.0"):
        for task in ("sums", "products"):
            day = time if task == "sums" else time.replace("T00", "T09")
            lines = [json.dumps(row) for row in harness_lines("one")]
            (tmp_path / f"samples_{task}_{day}.jsonl").write_text("\n".join(lines))
    frame = read_runs([f"m={tmp_path}"], Wanted(metric="acc"))
    found = frame.groupby(["run", "benchmark"]).size().to_dict()
    assert found == {(run, task): 24 for run in (0, 1) for task in ("products", "sums")}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_name_model_run_problem_correct_and_a_cluster(tmp_path, suffix):
    table = pd.DataFrame({"model": ["a", "a", "b", "b"], "problem": [1, 2, 1, 2], "correct": [0, 1, 1, 1]})
    table = table.assign(run="first", language=["en", "de"] * 2)
    file = tmp_path / f"answers.{suffix}"
    table.to_csv(file, index=False) if suffix == "csv" else table.to_parquet(file)
    found = compare(read_runs([str(file)], Wanted(cluster="language")))
    assert found.differences["difference"].tolist() == [0.5]
    with pytest.raises(UserError, match="no column family; allowed: model, problem, correct, run, language"):
        read_runs([str(file)], Wanted(cluster="family"))


def broken(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


SAMPLES = "samples_t_2026-01-01T00-00-00.0.jsonl"
DETAILS = "details_t_2026-01-01T00-00-00.0.parquet"
FINISHED = {"version": 2, "status": "success", "eval": dict.fromkeys(("model", "created", "run_id", "task"), "x")}
FINISHED["samples"] = [{"id": 1, "scores": [1]}]
BAD = {  # a file's name and content, by what is said of it
    "no such file": ("absent", None),
    "no log in this folder": ("", None),
    "not a log that is known": ("notes.txt", b"hello"),
    "cannot be read as csv": ("x.csv", b""),
    "cannot be read as parquet": ("x.parquet", b"PAR1"),
    "line 1: not JSON": (SAMPLES, b"{"),
    "line 1: not JSON: 'utf-8'": (SAMPLES, b'{"\xff": 1}'),
    "line 1: not JSON: maximum": (SAMPLES, b"[" * 100_000),
    "a list of metrics": (SAMPLES, b'{"doc_id": 1, "metrics": 5}'),
    "no samples": (SAMPLES, b""),
    "line 1: no sample": (SAMPLES, b"[]"),
    "line 1: no sample of": (SAMPLES, b'{"doc_id": 1, "metrics": [1, 2]}'),
    "cannot be read as a finished log": ("x.eval", b"PK"),
    "no log of Inspect": ("x.json", b'{"version": 2, "status": "success", "eval": {}, "samples": []}'),
    "no log of Inspect: IndexError": ("x.json", json.dumps(FINISHED).encode()),
    "no columns metric": (DETAILS, pd.DataFrame({"doc": [1]}).to_parquet()),
}


@pytest.mark.parametrize("fault", BAD)
def test_what_is_no_log_is_named(fault, tmp_path):
    name, content = BAD[fault]
    file = tmp_path / name if content is None else broken(tmp_path, name, content)
    with pytest.raises(UserError, match=fault) as error:
        read_runs([str(file)], Wanted())
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize(
    ("change", "fault"),
    [({"acc": 0.5}, "0.5; allowed: 0 or 1"), ({"metrics": []}, "no metric"), ({"filter": "strict"}, "several filters")],
)
def test_scores_that_are_none_or_several_are_refused(tmp_path, change, fault):
    rows = [harness_lines("one")[0] | change, harness_lines("one")[1]]
    file = broken(tmp_path, SAMPLES, "\n".join(map(json.dumps, rows)).encode())
    with pytest.raises(UserError, match=fault):
        read_runs([str(file)], Wanted(metric=None if "metrics" in change else "acc"))


def test_one_name_is_of_one_model_and_a_table_has_no_metric_to_choose(tmp_path):
    two = broken(tmp_path, "two.csv", b"model,problem,correct\na,1,0\nb,1,1\n")
    for run in (f"x={two}", f"x={HARNESS}"):
        with pytest.raises(UserError, match="several models"):
            read_runs([run], Wanted(metric="acc" if run.endswith("eval") else None))
    with pytest.raises(UserError, match="--filter"):
        read_runs([str(two)], Wanted(filter="strict"))


def test_a_log_that_inspect_did_not_finish_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(UserError, match="finished log"):
        read_runs([str(tmp_path / "x.eval")], Wanted())


def test_the_command_compares_writes_a_page_and_says_what_it_lacks(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["compare", str(HARNESS), "--metric", "acc", "--baseline", "two", "--json", "--page", str(page)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["baseline"] for row in told["differences"]] == ["two"]
    assert page.read_text().startswith("<!doctype html>")
    (kept := tmp_path / "folder" / "kept").parent.mkdir()
    kept.write_text("")
    assert main(["compare", str(HARNESS), "--metric", "acc", "--page", str(kept.parent)]) == 2 and kept.is_file()
    assert "a folder" in capsys.readouterr().err
    assert main(["compare", str(HARNESS)]) == 2
    assert "--metric" in capsys.readouterr().err
