"""A full disk, a read-only folder, no memory, a dead engine: each one clear message, by the libraries' own errors."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ict_core.commands import cli
from ict_core.errors import UserError
from ict_core.process.failures import check_room, explain, lost_connection
from ict_core.stages import settings

STUDY = str(Path(__file__).resolve().parents[2] / "configs/studies/smoke.yaml")
# Each writer that the stages use, on what is given as the folder; prints what each failure is explained as.
WRITERS = """
import json, resource, signal, sys
from pathlib import Path
import pandas as pd, torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models
from ict_core.store import records
from ict_core.process.failures import explain
from ict_core.store.manifests import write_json

folder = Path(sys.argv[1])
words = Tokenizer(models.WordLevel({f"{i:060}": i for i in range(20000)}, f"{0:060}"))
gradients = pd.DataFrame({"rule": [f"{i:x}" for i in range(200000)], "norm_share": 0.1, "cosine": 0.1})
gradients["cosine"] = torch.rand(200000).numpy().astype(float)
writers = {
    "text": lambda path: write_json(path, "x" * 2**21),
    "frame": lambda path: records.write_frame(gradients, path, records.GRADIENTS),
    "weights": lambda path: save_file({"a": torch.zeros(2**19)}, path),
    "torch": lambda path: torch.save(torch.zeros(2**19), path),
    "tokenizer": lambda path: words.save(str(path)),
}
def told(calls, stage="train"):
    found = {}
    for name, call in calls.items():
        try:
            call(folder / name)
        except Exception as error:
            found[name] = str(explain(error, stage, folder / name))
        (folder / name).unlink(missing_ok=True)
    print(json.dumps(found))
told(writers)
"""
# The same with little room for a file, then with little memory, then with no further file.
LIMITS = """
import os, numpy, torch.distributed as distributed
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
told(writers)
memory = {"python": bytearray, "numpy": numpy.zeros, "torch": torch.zeros}
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, resource.RLIM_INFINITY))
told({name: lambda _, zeros=zeros: zeros(2**40) for name, zeros in memory.items()})
there = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (there, there))
store = distributed.HashStore()
told({"gloo": lambda _: distributed.init_process_group("gloo", store=store, rank=0, world_size=1)}, "generate")
"""


@pytest.mark.slow
def test_every_writer_on_a_full_disk(tmp_path, in_namespace):
    python = f"{sys.executable} -c '{WRITERS}'"
    small = in_namespace(f"mount -t tmpfs -o size=256k none {tmp_path}", f"{python} {tmp_path}", f"ls -A {tmp_path}")
    first, *left = small.splitlines()
    for name, message in json.loads(first).items():
        assert message.startswith(f"{tmp_path}/{name}: ")
        assert "disk is full" in message and "same command again" in message
    assert json.loads(first).keys() == {"text", "frame", "weights", "torch", "tokenizer"}
    assert left == []


@pytest.mark.slow
def test_every_writer_with_room_and_without_and_no_memory_and_too_few_files(tmp_path):
    command = [sys.executable, "-c", WRITERS + LIMITS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    with_room, limited, memory, files = map(json.loads, done.stdout.splitlines())
    assert with_room == {} and len(limited) == 5
    assert all("the limit (ulimit -f)" in limited[n] for n in limited if n != "torch")
    assert len(memory) == 3
    for message in memory.values():
        assert message.startswith("out of memory") and "micro_batch_sequences" in message and "memory_gib" in message
    assert files["gloo"].startswith("too many open files; ") or ": too many open files; " in files["gloo"]
    assert "(ulimit -n)" in files["gloo"]


def test_a_command_on_a_full_and_on_a_read_only_file_system(tmp_path, in_namespace):
    code = "import sys; from ict_core.commands.cli import main; print(main(sys.argv[1:]), end=' ')"
    call = f'{sys.executable} -c "{code}" settings --study {STUDY} --out {tmp_path}/study.json 2>&1'
    full = in_namespace(f"mount -t tmpfs -o size=4k none {tmp_path}", call)
    assert full.startswith(f"error: {tmp_path}/study.json: ") and "disk is full" in full
    assert full.endswith(" on device]\n2 ")
    read_only = in_namespace(f"mount -t tmpfs -o ro none {tmp_path}", call)
    assert read_only.startswith(f"error: {tmp_path}/study.json.partial: ")
    assert "is read-only; mount it" in read_only and read_only.endswith("2 ")


def test_no_run_begins_where_it_cannot_write(tmp_path, in_namespace):
    check_room(tmp_path / "results" / "mini")
    assert not (tmp_path / "results").exists()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("gone")
    for name, fault in (("file", "file: a file stands where"), ("link", "is a link, and nothing is at .*gone")):
        with pytest.raises(UserError, match=fault):
            check_room(tmp_path / name / "mini")
    call = "from pathlib import Path; from ict_core.process.failures import check_room; check_room(Path(sys.argv[1]))"
    python = f"{sys.executable} -c 'import sys; {call}' {tmp_path}/results/mini 2>&1 | tail -n 1"
    said = in_namespace(f"mount -t tmpfs -o size=1m none {tmp_path}", python)
    assert f"{tmp_path}/results/mini: only 1 MiB are free there and 100 are needed" in said
    said = in_namespace(f"mount -t tmpfs -o ro none {tmp_path}", python)
    assert f"{tmp_path}/results/mini: {tmp_path}: the file system is read-" in said


class EngineDeadError(Exception):
    """Known by the name of vLLM's own."""


class OutOfMemoryError(RuntimeError):
    """Known by the name of torch's own."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "no", "some/file"), "some/file: permission denied; give this user"),
        (OSError(errno.EDQUOT, "quota"), "out: the disk quota is used up"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out of memory"),
        (OutOfMemoryError("CUDA out of memory. Tried to"), "the GPU is out of memory (CUDA out of memory); lower"),
        (EngineDeadError("EngineCore encountered an issue"), "the vLLM engine died (EngineCore encountered"),
        (RuntimeError("CUDA error: unspecified launch failure\nx"), "the GPU or its engine failed"),
    ],
)
def test_what_is_known_is_said(error, words):
    told = explain(error, "train", Path("out"))
    assert words in str(told) and str(told).count("\n") == 0


def test_the_cause_is_looked_for_and_nothing_else_is_explained():
    try:
        try:
            raise OSError(errno.ENOSPC, "full", "a")
        except OSError as error:
            raise ValueError("cannot save") from error
    except ValueError as error:
        assert str(explain(error, "train")).startswith("a: the disk is full")
    for error in (ValueError("CUDA error: unspecified launch failure"), FileNotFoundError(2, "no"), KeyError("x")):
        assert explain(error, "train") is None


def http(status: int) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "https://hub.invalid")
    return httpx.HTTPStatusError("no", request=request, response=httpx.Response(status, request=request))


class OfflineModeIsEnabled(ConnectionError):
    """Known by the name of the hub library's own."""


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (httpx.ConnectError("no route"), True),
        (ConnectionError("reset"), True),
        (http(503), True),
        (http(429), True),
        (http(404), False),
        (OfflineModeIsEnabled("offline"), False),
        (ValueError("not a model"), False),
    ],
)
def test_only_a_lost_connection_may_pass(error, lost):
    assert lost_connection(error) == lost


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UserError("bad key"), 2, "error: bad key"),
        (OSError(errno.ENOSPC, "full"), 2, "error: o: the disk is full"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_the_status_of_a_command(monkeypatch, capsys, error, status, said):
    def fail(_):
        raise error

    monkeypatch.setattr(settings, "load_study", fail)
    assert cli.main(["settings", "--study", "s", "--out", "o"]) == status
    assert capsys.readouterr().err.startswith(said)


def test_a_fault_of_the_code_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(settings, "load_study", lambda _: {}["missing"])
    with pytest.raises(KeyError):
        cli.main(["settings", "--study", "s", "--out", "o"])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_is_an_orderly_end_and_a_second_one_does_not_disturb_it():
    script = """
import os, signal, time
from ict_core.commands import cli
from ict_core.stages import settings
def wait(_):
    try:
        print("ready", flush=True)
        time.sleep(600)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        print("tidied", flush=True)
settings.load_study = wait
raise SystemExit(cli.main(["settings", "--study", "s", "--out", "o"]))
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        os.kill(process.pid, signal.SIGTERM)
        assert process.communicate(timeout=60) == ("tidied\n", "ended by SIGTERM\n")
    assert process.returncode == 143


def test_sigterm_ends_a_command_whose_library_makes_another_error_of_it(monkeypatch, capsys):
    """As a C++ module does that is being imported: ImportError("initialization failed")."""

    def load(_):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except SystemExit:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr(settings, "load_study", load)
    assert cli.main(["settings", "--study", "s", "--out", "o"]) == 143
    assert capsys.readouterr().err == "ended by SIGTERM\n"
