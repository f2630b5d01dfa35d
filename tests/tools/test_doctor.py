"""What the doctor finds on a machine with a fault, one at a time."""

import dataclasses
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import torch

from ict_core.commands.cli import main
from ict_core.config import load_study
from ict_core.tools import FAULT, Patient, doctor
from ict_core.tools import _doctor as module
from ict_core.tools._doctor import CHECKS, OK, WARNING, Finding

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "configs/studies"


@pytest.fixture(scope="module")
def smoke():
    return Patient(load_study(STUDIES / "smoke.yaml"), ROOT)


@pytest.fixture(scope="module")
def paper():
    return Patient(load_study(STUDIES / "paper.yaml"), ROOT)


@pytest.fixture
def elsewhere(paper, tmp_path):
    """The large study in a repository without results."""
    for part in ("configs", "requirements"):
        (tmp_path / part).symlink_to(ROOT / part)
    return paper._replace(root=tmp_path)


@pytest.fixture(autouse=True)
def no_token(monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))


def finding_of(name, patient):
    """What :func:`doctor` yields with this check alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHECKS", {name: CHECKS[name]})
        ((_, finding),) = doctor(patient)
    return finding


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "engine"])
def test_the_smoke_study_may_run_here(smoke, name):
    finding = finding_of(name, smoke)
    assert finding.level != FAULT, finding.text


@pytest.mark.slow
def test_the_engine_samples_a_token(smoke):
    """By the engine that loads in less; `tests/evaluation/test_engines.py` has the sample of both."""
    evaluation = smoke.study.evaluation.model_copy(update={"engine": "transformers"})
    study = dataclasses.replace(smoke.study, evaluation=evaluation)
    finding = finding_of("engine", smoke._replace(study=study))
    assert finding.level == OK, finding.text
    assert finding.text.startswith("transformers ")


def test_an_engine_that_does_not_import_is_a_fault_with_its_last_words(smoke, monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", "raise ImportError('libcudart.so.13: no such file')")
    finding = finding_of("engine", smoke)
    assert finding == (
        FAULT,
        "vllm: no token (exit status 1): ImportError: libcudart.so.13: no such file; try: make env",
    )
    monkeypatch.setattr(module, "_SAMPLE", "import time; time.sleep(60)")
    monkeypatch.setattr(module, "_SAMPLE_SECONDS", 0.2)
    assert "no token within 0.2 s" in finding_of("engine", smoke).text


def test_a_package_of_another_version_is_named(smoke, tmp_path):
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for lock in (tmp_path / "requirements").glob("*.lock"):
        lock.write_text(lock.read_text().replace("numpy==", "numpy==99."))
    level, text = finding_of("packages", smoke._replace(root=tmp_path))
    assert level == FAULT and "numpy" in text and "make env" in text


def test_python_too_old(smoke, monkeypatch):
    monkeypatch.setattr(module.sys, "version_info", (3, 9, 1))
    assert finding_of("python", smoke) == (FAULT, "3.9.1; allowed: from 3.11, below 3.15: make env PYTHON=...")


def test_fewer_gpus_than_a_training_holds(paper, smoke, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    finding = finding_of("devices", paper)
    assert finding.level == FAULT and finding.text.startswith("2 GPU(s), and a training needs 4")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert "built for CUDA and sees no GPU" in finding_of("devices", smoke).text


def test_a_file_system_without_locks_is_a_warning(smoke, monkeypatch):
    def without(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(module.fcntl, "flock", without)
    level, text = finding_of("locks", smoke)
    assert level == WARNING and "no file locks (Function not implemented)" in text
    monkeypatch.setattr(module.fcntl, "flock", lambda *_: None)
    assert "two processes get the same lock" in finding_of("locks", smoke).text


def test_too_small_a_disk_counts_what_is_there(elsewhere, monkeypatch):
    def free(gigabytes):
        blocks = int(gigabytes * 1e9 / 4096)
        return lambda _: SimpleNamespace(f_bavail=blocks, f_frsize=4096, f_flag=0)

    monkeypatch.setattr(os, "statvfs", free(10))
    level, text = finding_of("disk", elsewhere)
    assert level == FAULT and text.startswith("10.0 GB are free in ")
    needed = float(text.split("needs ")[1].split(" GB")[0])
    monkeypatch.setattr(os, "statvfs", free(needed + 1))
    assert finding_of("disk", elsewhere).level == OK
    sparse = elsewhere.results / "big"
    sparse.parent.mkdir(parents=True)
    with sparse.open("wb") as file:
        file.truncate(int(1e11))
    assert f"needs {needed - 100:.1f} GB more" in finding_of("disk", elsewhere).text
    monkeypatch.setattr(os, "statvfs", free(0.05))
    assert "only 47 MiB are free" in finding_of("disk", elsewhere).text


def test_memory_and_cores(paper, smoke, monkeypatch):
    monkeypatch.setattr(module, "_memory_gib", lambda: 31.0)
    assert finding_of("memory", smoke) == (OK, "31 GiB")
    assert finding_of("memory", paper).level == FAULT
    monkeypatch.setattr(module, "_memory_gib", lambda: 3.9)
    assert finding_of("memory", smoke).level == WARNING
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert finding_of("cores", smoke).level == OK
    assert finding_of("cores", paper).level == WARNING


def test_a_gated_set_wants_a_token_and_never_shows_it(paper, monkeypatch):
    found = finding_of("access", paper)
    assert found.level == FAULT and "HF_TOKEN is not set" in found.text
    monkeypatch.setenv("HF_TOKEN", "hf_a_secret")
    found = finding_of("access", paper)
    assert found.level == OK and found.text.startswith("HF_TOKEN is set for gpqa") and "hf_a_secret" not in found.text


def test_the_hub_matters_only_where_something_is_to_be_fetched(elsewhere, smoke, monkeypatch):
    def refuse(*_, **__):
        raise httpx.ConnectError("no route to host")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(httpx, "head", refuse)
    assert finding_of("hub", smoke) == (OK, "nothing is to be fetched")
    level, text = finding_of("hub", elsewhere)
    assert level == FAULT and "cannot be reached (ConnectError)" in text and "prefetch" in text
    monkeypatch.setattr(httpx, "head", lambda *_, **__: None)
    assert finding_of("hub", elsewhere).level == OK
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE is set" in finding_of("hub", elsewhere).text
    for model in elsewhere.study.models:
        (elsewhere.results / model / "base/seed-0/model").mkdir(parents=True)
    (elsewhere.results / "data").mkdir()
    for part in ("train", "eval"):
        (elsewhere.results / "data" / f"{part}.parquet").touch()
    assert finding_of("hub", elsewhere).level == OK


def test_a_check_that_breaks_is_a_fault_and_the_others_go_on(smoke, monkeypatch, capsys):
    def broken(_):
        raise OSError("torch: undefined\nsymbol")

    checks = {"broken": broken, "last": lambda _: Finding(WARNING, "look")}
    monkeypatch.setattr(module, "CHECKS", checks)
    assert main(["doctor", "--study", str(STUDIES / "smoke.yaml")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["fault    broken    OSError: torch: undefined symbol", "warning  last      look"]
    checks.pop("broken")
    assert main(["doctor", "--study", str(STUDIES / "smoke.yaml")]) == 0
