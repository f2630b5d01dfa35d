"""Leases of GPUs, on a node of eight that a stand-in for nvidia-smi lists."""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import pytest

from ict_core.errors import UserError
from ict_core.process.supervise import Gpu, allowed, run_leased

DEVICES = [Gpu(index, f"GPU-{index:02x}aa-bb") for index in range(8)]
SIZES = list(islice(cycle([1, 2, 4]), 40))
# A job: writes which devices it holds and when (the clock is the whole machine's), and dies if it is given too few.
JOB = """
import json, os, sys, time
from pathlib import Path
start = time.monotonic()
devices = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
assert len(devices) == int(sys.argv[2]) and os.environ["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
time.sleep(0.2)
Path(sys.argv[1]).write_text(json.dumps({"devices": devices, "start": start, "end": time.monotonic()}))
"""


class Node:
    """A node of eight GPUs and a folder for what jobs write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listing = "\n".join(f"{device.index}, {device.uuid}" for device in DEVICES)
        self.nvidia_smi(f"[ \"$*\" = '--query-gpu=index,uuid --format=csv,noheader' ] && echo '{listing}'")
        path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        self.environment |= {"PATH": path, "ICT_LOCKS": str(folder / "locks")}
        self.started: list[subprocess.Popen] = []
        (folder / "job.py").write_text(JOB)

    def nvidia_smi(self, script: str) -> None:
        path = self.folder / "bin" / "nvidia-smi"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def start(self, gpus: int, *command: str, **environment: str) -> subprocess.Popen:
        leased = ("ict", "lease", "--gpus", str(gpus), "--", *command)
        options = {"cwd": self.folder, "env": self.environment | environment, "start_new_session": True, "text": True}
        self.started.append(subprocess.Popen(leased, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options))
        return self.started[-1]

    def hold(self, gpus: int, **environment: str) -> subprocess.Popen:
        """A job that holds its devices until it is killed."""
        holder = self.start(gpus, "bash", "-c", "echo held; sleep 600 & echo $!; wait", **environment)
        assert holder.stdout.readline() == "held\n"
        return holder

    def end(self) -> None:
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def run(self, gpus: int, *command: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(gpus, *command, **environment)
        output, errors = process.communicate(timeout=60)
        return process.returncode, output.strip(), errors

    def visible(self, gpus: int, **environment: str) -> str:
        status, output, errors = self.run(gpus, "printenv", "CUDA_VISIBLE_DEVICES", **environment)
        assert status == 0, errors
        return output

    def check_records(self) -> None:
        """Every job ran, several at a time, and none held a device while another did."""
        records = [json.loads((self.folder / f"{job}.json").read_text()) for job in range(len(SIZES))]
        assert [len(set(record["devices"])) for record in records] == SIZES
        for device in DEVICES:
            held = sorted((r["start"], r["end"]) for r in records if str(device.index) in r["devices"])
            assert all(end <= start for (_, end), (start, _) in zip(held, held[1:], strict=False)), device
        spans = sorted((r["start"], r["end"]) for r in records)
        assert any(start < end for (_, end), (start, _) in zip(spans, spans[1:], strict=False))


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    yield node
    node.end()


@pytest.fixture
def inside(node, monkeypatch) -> pytest.MonkeyPatch:
    """This process on the node."""
    for name in ("PATH", "ICT_LOCKS"):
        monkeypatch.setenv(name, node.environment[name])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return monkeypatch


@pytest.mark.long
def test_forty_jobs_at_once_never_share_a_device(node):
    jobs = [node.start(gpus, sys.executable, "job.py", f"{job}.json", str(gpus)) for job, gpus in enumerate(SIZES)]
    errors = [job.communicate(timeout=300)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0] * 40, errors
    assert max(error.count("waiting for") for error in errors) == 1  # said once, however long it took
    node.check_records()


def test_status_and_arguments_are_the_commands_own(node):
    assert node.run(1, "bash", "-c", "exit 7")[0] == 7
    assert node.run(1, "bash", "-c", "kill -TERM $$")[0] == 128 + signal.SIGTERM
    assert node.run(1, "echo", "--gpus", "--", "x")[1] == "--gpus -- x"


def test_a_killed_job_frees_its_devices_and_not_before(node):
    holder = node.hold(8)
    child = int(holder.stdout.readline())
    waiting = node.start(1, "printenv", "CUDA_VISIBLE_DEVICES")
    assert " 1 of the GPUs [0, 1, 2, 3, 4, 5, 6, 7]" in waiting.stderr.readline()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    folder = os.open(node.folder / "locks", os.O_RDONLY)
    with pytest.raises(BlockingIOError):  # so systemd-tmpfiles leaves the old files in it alone
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(folder)
    time.sleep(1)  # more than one try; the job's own child still has the devices
    assert waiting.poll() is None
    os.kill(child, signal.SIGKILL)
    device = waiting.communicate(timeout=60)[0]  # any: the kernel frees the eight one after another
    assert device.strip() in {str(each.index) for each in DEVICES}


def test_a_mask_from_outside_is_respected(node):
    assert node.visible(2, CUDA_VISIBLE_DEVICES="5,3") == "5,3"
    assert node.visible(1, CUDA_VISIBLE_DEVICES=f"{DEVICES[6].uuid}, 2") == "6"
    node.hold(1, CUDA_VISIBLE_DEVICES="5")
    assert node.visible(1, CUDA_VISIBLE_DEVICES=f"{DEVICES[5].uuid},3") == "3"


def test_a_renumbered_device_is_the_same_device(node):
    """In a Slurm job's cgroup, the only GPU that is seen has index 0, whichever it is."""
    node.hold(7)
    node.nvidia_smi(f"echo '0, {DEVICES[3].uuid}'; echo '1, {DEVICES[7].uuid}'")
    assert node.visible(1) == "1"


def test_a_job_without_gpus_sees_none_and_needs_no_driver(node):
    node.nvidia_smi("exit 9")
    assert node.visible(0, CUDA_VISIBLE_DEVICES="0,1") == ""


@pytest.mark.parametrize(
    ("mask", "indices"),
    [
        (None, [*range(8)]),
        ("", []),
        ("-1", []),
        ("7,0,7", [7, 0]),
        (f"2,{DEVICES[2].uuid}", [2]),
        ("GPU-05,GPU-03aa", [5, 3]),
    ],
)
def test_what_a_mask_leaves(mask, indices):
    assert [device.index for device in allowed(DEVICES, mask)] == indices


@pytest.mark.parametrize("mask", ["8", "0,", "MIG-1", "GPU-0"])
def test_an_unknown_device_in_a_mask_is_named(mask):
    with pytest.raises(UserError, match=r"CUDA_VISIBLE_DEVICES=.*; allowed: 0 \(GPU-00aa-bb\)"):
        allowed(DEVICES, mask)


@pytest.mark.parametrize(
    ("gpus", "mask", "expected"),
    [
        (9, None, "--gpus 9: only 8 may be used here (0, 1, 2, 3, 4, 5, 6, 7; CUDA_VISIBLE_DEVICES=None)"),
        (3, "1,2", "--gpus 3: only 2 may be used here (1, 2; CUDA_VISIBLE_DEVICES=1,2)"),
        (-1, None, "--gpus -1: a number of GPUs from 0 on"),
    ],
)
def test_what_can_never_be_had_is_an_error_at_once(inside, gpus, mask, expected):
    if mask is not None:
        inside.setenv("CUDA_VISIBLE_DEVICES", mask)
    with pytest.raises(UserError, match=re.escape(expected)):
        run_leased(gpus, ["true"])


def test_what_is_missing_is_named(node, inside):
    with pytest.raises(UserError, match="^no-such-program: "):
        run_leased(1, ["no-such-program"])
    (node.folder / "file").touch()
    with inside.context() as changed, pytest.raises(UserError, match="file: File exists; "):
        changed.setenv("ICT_LOCKS", str(node.folder / "file"))
        run_leased(1, ["true"])
    node.nvidia_smi("echo 'NVIDIA-SMI has failed because it could not talk to the driver'; exit 9")
    with pytest.raises(UserError, match="failed: NVIDIA-SMI has failed"):
        run_leased(1, ["true"])
    (node.folder / "bin/nvidia-smi").unlink()
    inside.setenv("PATH", str(node.folder / "bin"))
    with pytest.raises(UserError, match="nvidia-smi: not found"):
        run_leased(1, [sys.executable])
