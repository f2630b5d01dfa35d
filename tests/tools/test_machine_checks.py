"""What `ict check` finds on a machine with a fault, one at a time."""

import dataclasses
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import torch

from ict_core.config.load import load_study
from ict_core.errors import UserError
from ict_core.tools import machine_checks
from ict_core.tools.machine_checks import FAULT, MACHINE_CHECKS, OK, WARNING, Finding, check_machine

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "configs/studies"


@pytest.fixture(scope="module")
def smoke():
    return load_study(STUDIES / "smoke.yaml")


@pytest.fixture(scope="module")
def paper():
    return load_study(STUDIES / "paper.yaml")


@pytest.fixture
def elsewhere(tmp_path):
    """A repository without results."""
    for part in ("configs", "requirements"):
        (tmp_path / part).symlink_to(ROOT / part)
    return tmp_path


@pytest.fixture(autouse=True)
def no_token(monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))


def finding_of(name, study, root=ROOT):
    """What :func:`check_machine` yields with this check alone."""
    ((_, finding),) = check_machine(study, root, {name: MACHINE_CHECKS[name]})
    return finding


@pytest.mark.parametrize("name", [name for name in MACHINE_CHECKS if name != "engine"])
def test_the_smoke_study_may_run_here(smoke, name):
    finding = finding_of(name, smoke)
    assert finding.level != FAULT, finding.text


def test_a_home_that_cannot_be_made_is_named(smoke, monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/nobody")
    finding = finding_of("home", smoke)
    assert finding.level == FAULT and finding.text.startswith("/proc/nobody/.cache/snakemake: ")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")  # which is there, and takes no new folder
    assert finding_of("home", smoke).level == FAULT
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert finding_of("home", smoke).level == OK


@pytest.mark.long
def test_the_engine_samples_a_token(smoke):
    """By the engine that loads in less; `tests/evaluation/test_engines.py` has the sample of both."""
    evaluation = smoke.evaluation.model_copy(update={"engine": "transformers"})
    finding = finding_of("engine", dataclasses.replace(smoke, evaluation=evaluation))
    assert finding.level == OK, finding.text
    assert finding.text.startswith("transformers ")


@pytest.mark.slow
def test_heads_that_the_engine_has_no_kernel_for_are_a_fault_before_any_training(smoke):
    ((name, model),) = smoke.models.items()
    heads = model.architecture.model_copy(update={"hidden_size": 24 * model.architecture.heads})
    level, text = finding_of("engine", dataclasses.replace(smoke, models={name: model.changed(architecture=heads)}))
    assert level == FAULT and "24" in text, text


def test_an_engine_that_does_not_import_is_a_fault_with_its_last_words(smoke, monkeypatch, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'ImportError: libcudart.so.13: no such file' >&2; exit 3\n")
    broken.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(broken))
    level, text = finding_of("engine", smoke)
    assert level == FAULT and "exit status 3" in text and "libcudart.so.13" in text

    def hang(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    assert finding_of("engine", smoke).level == FAULT


def test_fewer_gpus_than_a_training_holds(paper, smoke, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    finding = finding_of("devices", paper)
    assert finding.level == FAULT and finding.text.startswith("2 GPU(s), and a training needs 4")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert finding_of("devices", smoke).level == FAULT


def test_a_file_system_without_locks_is_a_warning(smoke, monkeypatch):
    def without(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", without)
    level, text = finding_of("disk", smoke)
    assert level == WARNING and "Function not implemented" in text
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    level, text = finding_of("disk", smoke)
    assert level == WARNING and "the same lock" in text


def test_a_full_disk_is_a_fault(smoke, monkeypatch):
    def free(gigabytes):
        blocks = int(gigabytes * 1e9 / 4096)
        return lambda _: SimpleNamespace(f_bavail=blocks, f_frsize=4096, f_flag=0)

    monkeypatch.setattr(os, "statvfs", free(10))
    level, text = finding_of("disk", smoke)
    assert level == OK and text.startswith("10.0 GB are free in ")
    monkeypatch.setattr(os, "statvfs", free(0.05))
    level, text = finding_of("disk", smoke)
    assert level == FAULT and "47 MiB" in text


def test_memory_and_cores(paper, smoke, monkeypatch):
    def has(gib):
        pages = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": int(gib * 2**30)}
        monkeypatch.setattr(os, "sysconf", pages.__getitem__)

    has(7.5)
    assert finding_of("memory", smoke) == (OK, "8 GiB")
    assert finding_of("memory", paper).level == FAULT
    asked = max(model.hardware.memory_gib for model in paper.models.values())
    has(0.97 * asked)  # the kernel keeps a part of what a machine has
    assert finding_of("memory", paper).level == OK
    has(0.85 * asked)
    assert finding_of("memory", paper).level == FAULT
    has(3.9)
    assert finding_of("memory", smoke).level == WARNING
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert finding_of("cores", smoke).level == OK
    assert finding_of("cores", paper).level == WARNING


@pytest.mark.parametrize(
    ("controllers", "folder", "name"), [("", "", "memory.max"), ("memory", "memory", "memory.limit_in_bytes")]
)
def test_the_smallest_limit_of_nested_control_groups_counts(smoke, monkeypatch, tmp_path, controllers, folder, name):
    root = tmp_path / folder
    limits = {"": "max", "user": str(5 * 2**30), "user/job": str(6 * 2**30), "other": str(2**30)}
    for group, limit in limits.items():
        (root / group).mkdir(parents=True, exist_ok=True)
        (root / group / name).write_text(f"{limit}\n")
    (tmp_path / "cgroup").write_text(f"3:cpu,cpuacct:/other\n2:{controllers}:/user/job/unlimited\n")
    monkeypatch.setattr(machine_checks, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine_checks, "_MEMORY", {controllers: f"{root}{{}}/{name}"})
    assert finding_of("memory", smoke).text.startswith("5.0 GiB")


def test_a_control_group_may_grant_less_time_than_there_are_cores(smoke, monkeypatch, tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "cgroup").write_text("0::/job\n")
    monkeypatch.setattr(machine_checks, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine_checks, "_CPU", {"": f"{tmp_path}{{}}/cpu.max"})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    assert finding_of("cores", smoke).level == OK
    for quota, cores in ((400_000, None), (250_000, "--cores 2"), (50_000, "--cores 1")):
        (tmp_path / "job/cpu.max").write_text(f"{quota} 100000\n")
        found = finding_of("cores", smoke)
        assert found.level == OK if cores is None else (found.level == WARNING and cores in found.text)


def test_a_gated_set_wants_a_token_and_never_shows_it(paper, monkeypatch):
    found = finding_of("access", paper)
    assert found.level == FAULT and "HF_TOKEN is not" in found.text
    monkeypatch.setenv("HF_TOKEN", "hf_a_secret")
    found = finding_of("access", paper)
    assert found.level == OK and found.text.startswith("HF_TOKEN is set") and "hf_a_secret" not in found.text
    gated = {name: one for name, one in paper.benchmarks.items() if one.kind == "published" and one.gated}
    trained = dataclasses.replace(paper, benchmarks={}, train_sets=gated)
    assert finding_of("access", trained).text == found.text


def test_the_hub_matters_only_where_something_is_to_be_fetched(paper, smoke, elsewhere, monkeypatch):
    def refuse(*_, **__):
        raise httpx.ConnectError("no route to host")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(httpx, "head", refuse)
    assert finding_of("hub", smoke).level == OK
    packed = load_study(STUDIES / "smollm2-one-step.yaml")
    assert "smollm2-135m-one-step" in finding_of("hub", packed, elsewhere).text  # by pip
    level, text = finding_of("hub", paper, elsewhere)
    assert level == FAULT and "ConnectError" in text and "prefetch" in text
    monkeypatch.setattr(httpx, "head", lambda *_, **__: None)
    assert finding_of("hub", paper, elsewhere).level == OK
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    level, text = finding_of("hub", paper, elsewhere)
    assert level == FAULT and "HF_HUB_OFFLINE" in text
    results = elsewhere / "results/paper"
    for model, made in zip(paper.models, ("seed-0/model", "fetched", "seed-0/model"), strict=True):
        (results / model / "base" / made).mkdir(parents=True)
    (results / "data").mkdir()
    for part in ("train", "eval"):
        (results / "data" / f"{part}.parquet").touch()
    assert finding_of("hub", paper, elsewhere).level == OK


def test_a_check_that_breaks_is_a_fault_and_the_others_go_on(smoke):
    def broken(*_):
        raise OSError("torch: undefined\nsymbol")

    def refused(*_):
        raise UserError("of two\nlines")

    checks = {"broken": broken, "refused": refused}
    checks |= {"looked": lambda *_: Finding(WARNING, "look"), "fine": lambda *_: "x"}
    assert dict(check_machine(smoke, ROOT, checks)) == {
        "broken": (FAULT, "OSError: torch: undefined symbol"),
        "refused": (FAULT, "of two lines"),
        "looked": (WARNING, "look"),
        "fine": (OK, "x"),
    }
