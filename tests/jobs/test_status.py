"""The state of a cell by its files."""

import os
import signal
import subprocess
import sys
import time
from base64 import urlsafe_b64encode

import pytest

from ict_core.commands.cli import main
from ict_core.config import Cell
from ict_core.jobs import begun, status, status_page, study_status
from ict_core.jobs._status import Status
from ict_core.jobs.outputs import study_jobs
from ict_core.process import Reading, is_held

CELL = Cell("m", "ict-10", 3)
NAME = "m/ict-10/seed-3"
BASE = Cell("m", "base", 0)


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def of(results, marked=frozenset(), faults=None):
    return status(results, CELL, BASE, marked, faults or {})[1:4]


def made_before(results):
    """The problems and the base model."""
    for name in ("data/train.parquet", "data/eval.parquet", "m/base/seed-0/model/config.json"):
        write(results / name)


HOLD = "import os, subprocess, sys, time; from ict_core.process._job_log import hold_log; hold_log(); "
COMMAND = """
import sys, time
from ict_core.commands import cli, stages
stages.load_study = lambda _: print("step 1 of 6", flush=True) or time.sleep(600 if sys.argv[1] else 0) or sys.exit()
cli.main(["settings", "--study", "s", "--out", "o"])
"""
CHILD = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"


def job(log, code):
    with log.open("w") as file:
        return subprocess.Popen([sys.executable, "-c", HOLD + code], stdout=file, stderr=file)


def said(log, process):
    """What a job has printed so far, as soon as that is anything."""
    while not log.stat().st_size and process.poll() is None:
        time.sleep(0.01)
    return log.read_text().strip()


def test_a_cell_goes_from_waiting_to_done(tmp_path):
    made_before(tmp_path)
    seen = [of(tmp_path)]
    for outputs in (
        ["train/log.parquet"],
        ["completions.parquet", "generation.json"],
        ["grades.parquet", "grading.json"],
    ):
        for output in outputs:
            write(tmp_path / NAME / output)
        seen.append(of(tmp_path))
    assert seen == [("waiting", "train", ""), ("trained", "generate", ""), ("generated", "grade", ""), ("done", "", "")]


def test_what_was_there_and_is_not_is_missing_and_what_is_spoilt_is_damaged(tmp_path):
    made_before(tmp_path)
    folder = tmp_path / NAME
    for output in ("train/log.parquet", "completions.parquet", "generation.json", "grades.parquet", "grading.json"):
        write(folder / output)
    assert of(tmp_path) == ("done", "", "")
    faults = {folder / "grades.parquet": f"{folder}/grades.parquet: not Parquet"}
    assert of(tmp_path, faults=faults) == ("damaged", "grade", f"{NAME}/grades.parquet: not Parquet")
    (folder / "grading.json").unlink()
    write(tmp_path / "logs/grade" / f"{NAME}.log", "correct 3")  # of a job that ended well
    assert of(tmp_path) == ("missing", "grade", f"{NAME}/grading.json")
    (folder / "completions.parquet").unlink()
    assert of(tmp_path) == ("missing", "generate", f"{NAME}/completions.parquet")
    assert of(tmp_path, faults={folder / "train": f"{folder}/train: x"}) == ("damaged", "train", f"{NAME}/train: x")
    (tmp_path / "m/base/seed-0/model/config.json").unlink()
    (tmp_path / "m/base/seed-0/model").rmdir()
    assert of(tmp_path) == ("missing", "pretrain", "m/base/seed-0/model")
    (tmp_path / "data/eval.parquet").unlink()
    assert of(tmp_path) == ("missing", "data", "data/eval.parquet")


def test_of_the_whole_study_what_is_not_as_it_was_left_is_told(tmp_path):
    def told(marked=frozenset(), faults=None):
        return [tuple(s[1:4]) for s in study_status(tmp_path, study_jobs(tmp_path), marked, faults or {})]

    assert told() == []
    write(tmp_path / "logs/collect.log", "error: no such cell")
    write(tmp_path / "study.json")
    scores = tmp_path / "scores.parquet"
    assert told() == [("failed", "collect", "error: no such cell")]
    assert told(marked=frozenset([scores])) == [("started", "collect", "")]
    write(scores)
    assert told(faults={scores: f"{scores}: x"}) == [("damaged", "collect", "scores.parquet: x")]
    page = status_page([Status(CELL, "done"), Status(None, "damaged", "collect", note="scores.parquet: x")])
    assert page.splitlines()[2:] == [
        "the study        damaged  collect                      scores.parquet: x",
        "",
        "1 cells: 1 done",
        "snakemake makes anew what is missing or damaged, and what follows from it",
    ]


def test_a_log_without_output_is_running_while_a_process_writes_it_and_then_failed(tmp_path):
    made_before(tmp_path)
    write(tmp_path / NAME / "train/log.parquet")
    log = tmp_path / "logs/generate" / f"{NAME}.log"
    log.parent.mkdir(parents=True)
    lines = "completion 1 of 9\\nwarning: completion 2 of 9\\ncompletion 3 of 9, 12 min left\\nloading"
    code = "import signal; asked = {signal.SIGUSR1}; signal.pthread_sigmask(signal.SIG_BLOCK, asked);"
    code += f"print('{lines}', flush=True); signal.sigwait(asked); raise MemoryError(7)"
    process = job(log, code)
    said(log, process)
    running = status(tmp_path, CELL, BASE, frozenset())
    assert running == (CELL, "running", "generate", "", Reading("completion", 3, 9, {}, "12 min"))
    process.send_signal(signal.SIGUSR1)
    process.wait()
    assert of(tmp_path) == ("failed", "generate", "MemoryError: 7")


def test_a_job_waits_until_all_processes_of_an_earlier_one_have_ended(tmp_path):
    log = tmp_path / "seed-0.log"
    orphan = job(log, f"print({CHILD}.pid, flush=True); time.sleep(600)")
    child = int(said(log, orphan))
    log.unlink()  # as Snakemake does before it starts the job again
    second = job(log, "print('at work', flush=True)")
    assert (
        said(log, second)
        == f"waiting for another process that is at this job (fuser {log.with_suffix('.lock')} names it)"
    )
    orphan.kill()
    orphan.wait()
    assert is_held(log) and second.poll() is None
    os.kill(child, signal.SIGKILL)
    assert second.wait(timeout=60) == 0
    assert said(log, second).endswith("\nat work")
    assert not is_held(log)


@pytest.mark.parametrize(
    ("end", "told"), [("SIGKILL", "it was killed (SIGKILL"), ("SIGTERM", "ended by SIGTERM"), ("", "")]
)
def test_a_killed_job_has_failed_and_is_told_from_one_whose_output_was_deleted(tmp_path, end, told):
    made_before(tmp_path)
    log = tmp_path / "logs/train" / f"{NAME}.log"
    write(log)
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-c", COMMAND, end], stdout=file, stderr=file)
    said(log, process)
    if end:
        process.send_signal(signal.Signals[end])
    process.wait(timeout=60)
    state, stage, note = of(tmp_path)
    assert (state, stage) == ("failed" if end else "missing", "train")
    assert note.startswith(told)


def test_what_a_job_starts_does_not_wait_for_it(tmp_path):
    log = tmp_path / "seed-0.log"
    inner = HOLD + "print('inner', os.read(0, 1), flush=True)"
    outer = job(log, f"sys.exit(subprocess.run([sys.executable, '-c', {inner!r}], timeout=60).returncode)")
    assert outer.wait(timeout=60) == 0
    assert log.read_text() == "inner b''\n"


def test_only_a_log_is_locked(tmp_path):
    assert job(tmp_path / "plan.txt", "").wait(timeout=60) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["plan.txt"]


@pytest.mark.parametrize("split", [254, 20])
def test_a_job_that_snakemake_has_begun_and_that_holds_no_log_is_started(tmp_path, split):
    train = tmp_path / "results/s" / NAME / "train"
    code = urlsafe_b64encode(f"results/s/{NAME}/train".encode()).decode()
    parts = [code[i : i + split] for i in range(0, len(code), split)]
    write(tmp_path.joinpath(".snakemake/incomplete", *("@" + part for part in parts[:-1]), parts[-1]))
    write(tmp_path / "results/s/logs/train" / f"{NAME}.log", "step 3")
    assert begun(tmp_path) == {train}
    assert of(tmp_path / "results/s", begun(tmp_path)) == ("started", "train", "")
    assert of(tmp_path / "results/s") == ("missing", "train", f"{NAME}/train")


def test_a_base_model_is_pretrained_or_fetched(tmp_path):
    assert status(tmp_path, BASE, BASE, frozenset())[:4] == (BASE, "waiting", "pretrain", "")
    write(tmp_path / "logs/fetch_model/m/base/seed-0.log", "error: no such commit\n")
    assert status(tmp_path, BASE, BASE, frozenset())[:4] == (BASE, "failed", "fetch_model", "error: no such commit")
    made_before(tmp_path)
    assert status(tmp_path, BASE, BASE, frozenset())[:4] == (BASE, "trained", "generate", "")


def test_a_cell_waits_for_its_own_base_model(tmp_path):
    made_before(tmp_path)
    write(tmp_path / NAME / "train/log.parquet")
    other = Cell("m", "base", 1)
    lost = ("missing", "pretrain", "m/base/seed-1/model")
    assert status(tmp_path, CELL, other, frozenset())[1:4] == lost


def test_a_training_that_serves_a_choice_alone_is_done_once_it_is_trained(tmp_path):
    made_before(tmp_path)
    seen = [status(tmp_path, CELL, BASE, frozenset(), evaluated=False)[1:3]]
    write(tmp_path / NAME / "train/log.parquet")
    seen.append(status(tmp_path, CELL, BASE, frozenset(), evaluated=False)[1:3])
    assert seen == [("waiting", "train"), ("done", "")]


def test_the_page_is_a_table_with_a_header_and_totals():
    reading = Reading("step", 12, 60, {"reward": 0.4321}, "8 s")
    page = status_page(
        [
            Status(CELL, "done"),
            Status(CELL, "running", "train", reading=reading),
            Status(Cell("long", "grpo", 10), "failed", "train", "E"),
        ]
    )
    assert page.splitlines() == [
        "cell               state    stage  step   reward  left  note",
        "m/ict-10/seed-3    done",
        "m/ict-10/seed-3    running  train  12/60  0.432   8 s",
        "long/grpo/seed-10  failed   train                       E",
        "",
        "3 cells: 1 done, 1 running: train, 1 failed: train",
    ]
    narrow = status_page([Status(CELL, "failed", "train", "E" * 99)], width=40).splitlines()
    assert len(narrow[0]) <= len(narrow[1]) == 40


def test_the_command_reads_a_study_and_names_a_folder_that_is_not_there(capsys, tmp_path):
    for name in (
        "mini-s/ict-10/seed-0/train/a",
        "mini-s/base/seed-0/model/a",
        "data/train.parquet",
        "data/eval.parquet",
    ):
        write(tmp_path / name)
    assert main(["status", "--results", str(tmp_path)]) == 0
    assert "96 cells: 94 waiting, 2 trained" in capsys.readouterr().out.splitlines()
    assert main(["status", "--results", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
