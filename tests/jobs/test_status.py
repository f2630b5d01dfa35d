"""The state of cells and jobs by their files."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from ict_core.commands.cli import main
from ict_core.config.study_file import Cell
from ict_core.jobs.causes import cause
from ict_core.jobs.status import Status, status_page, status_records, study_status
from ict_core.process.job_log import JOB, Reading, is_held, was_killed
from ict_core.store import records

CELL = Cell("m", "ict-10", 3)
NAME = "m/ict-10/seed-3"
BASE = Cell("m", "base", 0)
TUNING = Cell("m", "ict-10", 1000)


def a_study(kind="pretrained-from-scratch", supervised_start=None, later=()):
    return SimpleNamespace(
        models={"m": SimpleNamespace(kind=kind, supervised_start=supervised_start)},
        evaluated_cells=lambda: [BASE, CELL],
        evaluated={BASE, CELL},
        tuning_cells=lambda: [TUNING],
        later_cells=lambda: list(later),
    )


STUDY = a_study()


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def of(results, cell=CELL, study=STUDY):
    """State, stage and note of one cell."""
    (status,) = (s for s in study_status(study, results, {}) if s.cell == cell)
    return status[1:4]


def beside(results):
    """The same of what belongs to no cell."""
    return [s[1:4] for s in study_status(STUDY, results, {}) if s.cell is None]


HOLD = "import os, subprocess, sys, time; from ict_core.process.job_log import hold_log; hold_log(); "
COMMAND = """
import sys, time
from ict_core.commands import cli
from ict_core.stages import settings
settings.load_study = lambda _: print("step 1 of 6", flush=True) or time.sleep(600 if sys.argv[1] else 0) or sys.exit()
cli.main(["settings", "--study", "s", "--out", "o"])
"""
CHILD = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"


def job(log, code):
    return started(log, HOLD + code)


def started(log, code, *arguments):
    """A process that runs as the workflow's jobs do."""
    with log.open("w") as file:
        command, environment = [sys.executable, "-c", code, *arguments], os.environ | {JOB: "1"}
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment)


def said(log, process):
    """What a job has printed so far, as soon as that is anything."""
    while not log.stat().st_size and process.poll() is None:
        time.sleep(0.01)
    return log.read_text().strip()


WRITTEN = ("train/log.txt", "completions.parquet", "generation.json", "grades.parquet", "grading.json")


def test_a_cell_goes_from_waiting_to_done(tmp_path):
    seen = [of(tmp_path)]
    for names in (WRITTEN[:1], WRITTEN[1:3], WRITTEN[3:]):
        for name in names:
            write(tmp_path / NAME / name)
        seen.append(of(tmp_path))
    assert seen == [("waiting", "train", ""), ("trained", "generate", ""), ("generated", "grade", ""), ("done", "", "")]


def test_what_was_there_and_is_not_is_missing(tmp_path):
    for name in WRITTEN:
        write(tmp_path / NAME / name)
    (tmp_path / NAME / "grading.json").unlink()
    assert of(tmp_path) == ("missing", "grade", f"{NAME}/grading.json")
    (tmp_path / NAME / "grades.parquet").unlink()
    assert of(tmp_path) == ("generated", "grade", "")
    write(tmp_path / "logs/grade" / f"{NAME}.log", "correct 3")  # of a job that ended well
    assert of(tmp_path) == ("missing", "grade", f"{NAME}/grades.parquet, {NAME}/grading.json")
    (tmp_path / NAME / "completions.parquet").unlink()
    assert of(tmp_path) == ("missing", "generate", f"{NAME}/completions.parquet")


def test_any_job_that_failed_or_runs_is_told_whichever_rule_it_is_of(tmp_path):
    assert beside(tmp_path) == []
    write(tmp_path / "logs/collect.log", "error: no such cell")
    write(tmp_path / "logs/tune/m/ict-10.log", "error: no reward")
    write(tmp_path / "logs/solutions.log", "Traceback (most recent call last):\n  File\nKeyError: 'a'\n")
    write(tmp_path / "logs/rollouts/m.log", "correct 3")
    with (tmp_path / "logs/read_tokens.lock").open("w") as lock:
        write(tmp_path / "logs/read_tokens.log", "answer 3 of 9")
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert beside(tmp_path) == [
            ("failed", "collect", "error: no such cell"),
            ("running", "read_tokens", ""),
            ("failed", "solutions", "KeyError: 'a'"),
            ("failed", "tune/m/ict-10", "error: no reward"),
        ]


def test_any_damaged_file_is_told_whichever_rule_wrote_it(tmp_path):
    solutions = tmp_path / "data/solutions.parquet"
    write(solutions, "no Parquet")
    ((state, stage, note),) = beside(tmp_path)
    assert (state, stage) == ("damaged", "") and note.startswith("data/solutions.parquet: ")
    assert solutions.exists()


def test_a_log_without_output_is_running_while_a_process_writes_it_and_then_failed(tmp_path):
    write(tmp_path / NAME / "train/log.txt")
    log = tmp_path / "logs/generate" / f"{NAME}.log"
    log.parent.mkdir(parents=True)
    lines = "completion 1 of 9\\nwarning: completion 2 of 9\\ncompletion 3 of 9, 12 min left\\nloading"
    code = "import signal; asked = {signal.SIGUSR1}; signal.pthread_sigmask(signal.SIG_BLOCK, asked);"
    code += f"print('{lines}', flush=True); signal.sigwait(asked); raise MemoryError(7)"
    process = job(log, code)
    said(log, process)
    (running,) = (s for s in study_status(STUDY, tmp_path, {}) if s.cell == CELL)
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
    assert f"(fuser {log.with_suffix('.lock')} names it)" in said(log, second)
    orphan.kill()
    orphan.wait()
    assert is_held(log) and second.poll() is None
    os.kill(child, signal.SIGKILL)
    assert second.wait(timeout=60) == 0
    assert said(log, second).endswith("\nat work")
    assert not is_held(log)


def test_what_a_log_says_does_not_command_the_terminal():
    page = status_page([Status(CELL, "failed", "train", "a\x1b[31m note")])
    assert "\x1b" not in page and r"a\x1b[31m note" in page


def test_who_may_only_read_sees_that_a_job_runs():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        log = Path(name) / "seed-0.log"
        process = job(log, "print('at work', flush=True); time.sleep(600)")
        said(log, process)
        log.with_suffix(".lock").chmod(0o444)
        user = os.geteuid()
        os.seteuid(user or 65534)  # root may write whatever its mode
        try:
            assert is_held(log) and not was_killed(log)
        finally:
            os.seteuid(user)
            process.kill()
            process.wait()
        assert was_killed(log)


@pytest.mark.parametrize(
    ("end", "told"), [("SIGKILL", "it was killed (SIGKILL"), ("SIGTERM", "ended by SIGTERM"), ("", "")]
)
def test_a_killed_job_has_failed_and_is_told_from_one_whose_output_was_deleted(tmp_path, end, told):
    log = tmp_path / "logs/train" / f"{NAME}.log"
    write(log)
    process = started(log, COMMAND, end)
    said(log, process)
    if end:
        process.send_signal(signal.Signals[end])
    process.wait(timeout=60)
    state, stage, note = of(tmp_path)
    assert (state, stage) == ("failed" if end else "missing", "train") and note.startswith(told)


def test_a_job_that_has_succeeded_has_not_failed_whatever_its_libraries_print(tmp_path):
    printed = "print('Traceback (most recent call last):\\n  x\\nOSError: [Errno 9]', flush=True); "
    end = "from ict_core.process.job_log import tell_end; tell_end(succeeded={})"
    for succeeded, told in ((False, "OSError: [Errno 9]"), (True, ""), (False, "OSError: [Errno 9]")):
        assert job(tmp_path / "data.log", printed + end.format(succeeded)).wait(timeout=60) == 0
        assert cause(tmp_path / "data.log") == told


def test_what_a_job_starts_does_not_wait_for_it_and_only_a_log_is_locked(tmp_path):
    log = tmp_path / "seed-0.log"
    inner = HOLD + "print('inner', os.read(0, 1), flush=True)"
    outer = job(log, f"sys.exit(subprocess.run([sys.executable, '-c', {inner!r}], timeout=60).returncode)")
    assert outer.wait(timeout=60) == 0
    assert log.read_text() == "inner b''\n"
    assert job(tmp_path / "plan.txt", "").wait(timeout=60) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.txt", "seed-0.lock", "seed-0.log"]


def test_a_log_of_a_users_own_is_not_locked(tmp_path, monkeypatch):
    monkeypatch.delenv(JOB, raising=False)
    with (tmp_path / "x.log").open("w") as file:
        subprocess.run([sys.executable, "-c", HOLD], stdout=file, check=True, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["x.log"]


def test_a_base_model_is_made_by_the_rule_of_its_kind(tmp_path):
    started = a_study("local", supervised_start=object())
    for study, rule in ((STUDY, "pretrain"), (a_study("hub"), "fetch_model"), (started, "supervised_start")):
        assert of(tmp_path, BASE, study) == ("waiting", rule, "")
    write(tmp_path / "m/base/seed-0/model/config.txt")
    assert of(tmp_path, BASE) == ("trained", "generate", "")


def test_a_training_that_serves_a_choice_alone_is_done_once_it_is_trained(tmp_path):
    assert of(tmp_path, TUNING) == ("waiting", "train", "")
    write(tmp_path / TUNING.folder / "train/log.txt")
    assert of(tmp_path, TUNING) == ("done", "", "")


def test_stored_cells_and_later_ones_that_have_begun_are_listed(tmp_path):
    later = [CELL._replace(seed=number) for number in (7, 8, 9)]
    write(tmp_path / later[0].folder / "notes.txt")
    found = study_status(a_study(later=later), tmp_path, {CELL: "of a machine", later[1]: "too"})
    assert [s.cell for s in found] == [BASE, CELL, TUNING, *later[:2]]
    assert [(s.state, s.note) for s in found if s.state == "stored"] == [("stored", "of a machine"), ("stored", "too")]


def test_the_page_is_a_table_with_a_header_and_totals():
    running = Status(CELL, "running", "train", reading=Reading("step", 12, 60, {"reward": 0.4321}, "8 s"))
    failed, damaged = Status(Cell("long", "grpo", 10), "failed", "train", "E"), Status(None, "damaged", note="a: x")
    assert status_page([Status(CELL, "done"), running, failed, damaged]).splitlines() == [
        "cell               state    stage  step   reward  left  note",
        "m/ict-10/seed-3    done",
        "m/ict-10/seed-3    running  train  12/60  0.432   8 s",
        "long/grpo/seed-10  failed   train                       E",
        "the study          damaged                              a: x",
        "",
        "3 cells: 1 done, 1 running: train, 1 failed: train",
    ]
    narrow = status_page([Status(CELL, "failed", "train", "E" * 99)], width=40).splitlines()
    assert len(narrow[0]) <= len(narrow[1]) == 40


def test_a_record_leaves_out_a_value_that_json_does_not_have():
    reading = Reading("step", 1, 2, {"reward": float("nan"), "loss": 0.5})  # no answer could be graded
    (record,) = status_records([Status(CELL, "running", "train", reading=reading)])
    assert record == {"cell": NAME, "state": "running", "stage": "train", "step": 1, "of": 2, "loss": 0.5}


def test_the_command_reads_a_study_and_names_a_folder_that_is_not_there(capsys, tmp_path):
    for name in ("mini-xs/ict-10/seed-0/train/a", "mini-xs/base/seed-0/model/a"):
        write(tmp_path / name)
    smoke = ["status", "smoke", "--results", str(tmp_path)]
    assert main(smoke) == 0
    assert "6 cells: 4 waiting, 2 trained" in capsys.readouterr().out.splitlines()
    log = pd.DataFrame(0.5, index=range(16), columns=list(records.LOG)).assign(step=range(16), selecting=True, tokens=9)
    log = log.assign(truncated_share=[0.0] * 8 + [0.3] * 8)
    records.write_frame(log, tmp_path / "mini-xs/ict-10/seed-0/train/log.parquet", records.LOG)
    assert main(smoke) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("| mini-xs/ict-10"))
    assert "cut" in line and "0.3" in line
    assert main([*smoke, "--json"]) == 0
    rows = {row["cell"]: row for row in json.loads(capsys.readouterr().out)}
    (fault,) = rows["mini-xs/ict-10/seed-0"]["faults"]
    assert (fault["value"], fault["step"]) == (pytest.approx(0.3), 8) and "faults" not in rows["mini-xs/base/seed-0"]
    assert main(["status", "--results", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
