import contextlib
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile_graders import obey

from ict_core.errors import UserError
from ict_core.grading import pool as pool_module
from ict_core.grading.pool import GradingPool

LONG = 100_000  # characters of a text that only a worker looks at
COMMAND = pool_module._COMMAND
BARE = "from ict_core.grading import _worker; _worker.load_math_verify = int; _worker.serve({descriptor})"


@pytest.fixture(scope="module", autouse=True)
def bare_workers():
    """Workers start without math-verify, whose import is most of their start: `obey` does not need it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "_COMMAND", BARE)
        yield


def boxed(*answers):
    return [(f"\\boxed{{{answer}}}", "gold", "math") for answer in answers]


@pytest.fixture(scope="module")
def obedient():
    with GradingPool(workers=2, seconds=1, memory_mib=256, grade=obey) as pool:
        yield pool


@pytest.fixture(scope="module")
def patient():
    """For what takes its memory slowly on a busy machine."""
    with GradingPool(workers=1, seconds=20, memory_mib=256, grade=obey) as pool:
        yield pool


@pytest.fixture(scope="module")
def lone():
    with GradingPool(workers=1, seconds=1, memory_mib=256, grade=obey) as pool:
        yield pool


def ended(pid):
    """Whether a process is gone (a zombie that nobody waits for is)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def ends_within(pid, seconds):
    deadline = time.monotonic() + seconds
    while not ended(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return ended(pid)


def test_what_is_cheap_needs_no_worker(monkeypatch):
    monkeypatch.setattr(pool_module, "_Worker", None)
    items = [("no box", "5", "math"), ("\\boxed{5}", "5", "math"), ("\\boxed{6}", "5", "math")]
    items.append(("\\boxed{B}", "B", "choice"))
    with GradingPool(workers=1, seconds=1, memory_mib=256) as pool:
        assert [v.status for v in pool.grade(items)] == ["no_answer", "correct", "wrong", "correct"]
        assert pool.grade([]) == []


@pytest.mark.slow
def test_math_verify_in_a_worker(monkeypatch):
    monkeypatch.setattr(pool_module, "_COMMAND", COMMAND)
    items = [
        ("\\boxed{0.5}", "\\frac{1}{2}", "math"),
        ("\\boxed{0.6}", "\\frac{1}{2}", "math"),
        ("x" * LONG + "\\boxed{0.5}", "\\frac{1}{2}", "math"),
        ("x" * LONG + "\\boxed{5}", "5", "math"),
        ("x" * LONG + "\\boxed{B}", "B", "choice"),
        ("x" * LONG, "B", "choice"),
    ]
    statuses = ["correct", "wrong", "correct", "correct", "correct", "no_answer"]
    with GradingPool(workers=1, seconds=10, memory_mib=512) as pool:
        assert [v.status for v in pool.grade(items)] == statuses
        (worker,) = pool._workers
        limit, _ = resource.prlimit(worker.process.pid, resource.RLIMIT_AS)
        assert 512 * 2**20 < limit < 2 * 2**30


@pytest.mark.slow
def test_order_is_kept_and_workers_are_reused(obedient):
    answers = [f"answer {i}" for i in range(300)]
    seen: list[int] = []
    assert [v.extracted for v in obedient.grade(boxed(*answers), seen.append)] == answers
    assert seen == sorted(seen) and seen[-1] == 300 > seen[0]
    # two calls, together no more than the pool's two workers; an idle one may have had nothing of the first
    calls = [obedient.grade(boxed(*(f"pid {i}" for i in range(100)))) for _ in range(2)]
    assert len({v.extracted for verdicts in calls for v in verdicts}) <= 2


@pytest.mark.slow
def test_equal_pairs_are_graded_once(lone):
    first, second = lone.grade([("so \\boxed{pid}", "g", "math"), ("then \\boxed{pid}", "g", "math")])
    assert first == second
    begin = time.monotonic()
    assert {v.status for v in lone.grade(boxed(*["sleep"] * 50))} == {"timeout"}
    assert time.monotonic() - begin < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "status", "workers"),
    [
        ("sleep", "timeout", "obedient"),
        ("spin", "timeout", "lone"),
        ("exit", "error", "obedient"),
        ("segfault", "error", "lone"),
        ("raise", "error", "lone"),
        ("close", "error", "lone"),
        ("killed", "memory", "lone"),
        ("hoard", "memory", "patient"),
        ("swallow", "memory", "patient"),
    ],
)
def test_only_the_guilty_item_is_lost(request, word, status, workers):
    pool = request.getfixturevalue(workers)
    answers = [f"a{i}" for i in range(20)] + [word] + [f"b{i}" for i in range(20)]
    verdicts = pool.grade(boxed(*answers))
    assert [v.extracted for v in verdicts] == answers
    assert [v.status for v in verdicts] == ["correct"] * 20 + [status] + ["correct"] * 20
    assert pool.grade(boxed("after"))[0].status == "correct"


@pytest.mark.slow
@pytest.mark.parametrize(
    "message", ['["perfect", "5"]', '["correct"]', '["correct", 5]', "null", "{}", "so", "[", "[" * 9000]
)
def test_a_message_that_is_no_verdict_costs_the_worker(lone, message):
    assert lone.grade(boxed(f"forge {message}", "fine")) == [("error", f"forge {message}"[:200]), ("correct", "fine")]


def test_a_pickle_from_a_worker_is_not_loaded(lone, tmp_path):
    marker = tmp_path / "marker"
    assert lone.grade(boxed(f"pickle {marker}"))[0].status == "error"
    assert not marker.exists()
    pickle_of_the_same = f"cos\nsystem\n(S'touch {marker}'\ntR.".encode()
    assert pickle.loads(pickle_of_the_same) == 0 and marker.exists()  # noqa: S301 - it is a pickle that would run


@pytest.mark.slow
def test_an_answer_whose_worker_is_killed_from_outside_is_graded_once_more(lone, tmp_path, capfd):
    word = f"killed-once {tmp_path / 'mark'}"
    verdicts = lone.grade(boxed("before", word, "after"))
    assert [v.status for v in verdicts] == ["correct"] * 3
    said = "grading: a worker was killed by SIGKILL; the answer that it was at is graded once more\n"
    assert capfd.readouterr().err == said
    assert lone.grade(boxed("killed"))[0].status == "memory"  # every time: not forever, and never wrong
    assert capfd.readouterr().err == said


@pytest.mark.slow
def test_a_worker_that_is_killed_as_it_starts_is_replaced(monkeypatch, tmp_path, capfd):
    mark = tmp_path / "mark"
    kill = f"import os, pathlib; m = pathlib.Path({str(mark)!r}); m.exists() or (m.touch(), os.kill(os.getpid(), 9)); "
    monkeypatch.setattr(pool_module, "_COMMAND", kill + pool_module._COMMAND)
    with GradingPool(workers=1, seconds=5, memory_mib=256, grade=obey) as pool:
        assert pool.grade(boxed("fine"))[0].status == "correct"
    assert " SIGKILL as it started; another one" in capfd.readouterr().err


@pytest.mark.slow
def test_a_worker_that_died_idle_is_replaced_without_blame(lone, capfd):
    (pid,) = (int(v.extracted) for v in lone.grade(boxed("pid")))
    os.kill(pid, signal.SIGKILL)
    assert ends_within(pid, 5)
    assert [v.status for v in lone.grade(boxed("one", "two"))] == ["correct", "correct"]
    assert capfd.readouterr().err == ""  # neither answer had to be graded once more


@pytest.mark.slow
def test_workers_that_died_idle_are_not_counted_with_one_that_is_killed_as_it_starts(monkeypatch, tmp_path):
    with GradingPool(workers=3, seconds=5, memory_mib=256, grade=obey) as pool:
        while len(pool._workers) < 3 or not all(worker.ready for worker in pool._workers):
            pool.grade(boxed(*map(str, range(33))))
        for worker in pool._workers:
            worker.process.kill()
            worker.process.wait()
        mark = tmp_path / "mark"
        kill = (
            f"import os, pathlib; m = pathlib.Path({str(mark)!r}); m.exists() or (m.touch(), os.kill(os.getpid(), 9))"
        )
        monkeypatch.setattr(pool_module, "_COMMAND", f"{kill}; {pool_module._COMMAND}")
        assert pool.grade(boxed("fine"))[0].status == "correct"


@pytest.mark.slow
def test_an_interrupt_leaves_no_worker(obedient):
    obedient.grade(boxed(*map(str, range(20))))
    pids = [worker.process.pid for worker in obedient._workers]
    assert len(pids) == 2

    def interrupted(graded):
        if graded:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        obedient.grade(boxed("fine", "sleep"), interrupted)
    assert all(ended(pid) for pid in pids)
    assert obedient.grade(boxed("fine"))[0].status == "correct"


# No `if __name__ == "__main__"`: a worker must not run its parent's main module.
PARENT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background process may have inherited as ignored
from hostile_graders import obey
from ict_core.grading.pool import GradingPool
with GradingPool(workers=1, seconds={seconds}, memory_mib=256, grade=obey) as pool:
    pool.grade([(r"\\boxed{{pid}}", "gold", "math")])
    pool.grade([(r"\\boxed{{spin}}", "gold", "math")])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "seconds", "within"), [(signal.SIGINT, 60, 5), (signal.SIGKILL, 1, 8)])
def test_no_worker_outlives_its_parent(tmp_path, sent, seconds, within):
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(seconds=seconds))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        worker = int(parent.stdout.readline())
        assert not ended(worker)
        parent.send_signal(sent)
        parent.wait(timeout=120)
        try:
            assert ends_within(worker, within)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


@pytest.mark.slow
def test_an_idle_worker_ends_with_its_parent():
    with GradingPool(workers=1, seconds=1, memory_mib=256, grade=obey) as pool:
        (pid,) = (int(v.extracted) for v in pool.grade(boxed("pid")))
        pool._workers[0].connection.close()
        assert ends_within(pid, 5)


def test_a_worker_that_cannot_start_is_a_user_error(monkeypatch, capfd):
    monkeypatch.setattr(pool_module, "_COMMAND", "raise SystemExit({descriptor} and 9)")
    pool = GradingPool(workers=2, seconds=1, memory_mib=256)
    with pytest.raises(UserError, match="start .*exit status 9"):
        pool.grade([("\\boxed{0.5}", "\\frac12", "math")])
    assert pool._workers == []


@pytest.mark.parametrize("bad", [{"workers": 0}, {"seconds": -1}, {"memory_mib": 0}, {"seconds": float("inf")}])
def test_bad_limits(bad):
    with pytest.raises(UserError, match=next(iter(bad))):
        GradingPool(**{"workers": 1, "seconds": 1, "memory_mib": 256, **bad})


def test_an_unknown_answer_type(lone):
    with pytest.raises(UserError, match="'essay'"):
        lone.grade([("\\boxed{5}", "5", "essay")])
