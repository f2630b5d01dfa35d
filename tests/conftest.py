"""Fixtures that several packages' tests share."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from system import INSTALL, chromium, named, needs

from ict_core.process import numerics

numerics.use("portable")  # before a test imports numpy or torch
import torch  # noqa: E402, F401

numerics.check()  # which holds torch's roots, as a job's start does

settings.register_profile("project", deadline=None, derandomize=True)  # a busy machine is no failure
settings.load_profile("project")


@pytest.fixture(autouse=True)
def same_numerics() -> Iterator[None]:
    """Fails the test that has chosen other numerics for its process, and with it for every test that follows."""
    yield
    assert numerics.chosen() == "portable"


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is long is slow. Files with slow tests come first: one that starts last keeps all processes waiting."""
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker("slow")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """One line, the last before the counts, that installs all that skipped tests lacked."""
    yield
    if packages := named(report.longrepr for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(
            f"for the tests that were skipped: {INSTALL} {' '.join(packages)} (or: make system)"
        )


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory) -> Path:
    """A randomly initialised two-layer model with the mini world's tokenizer, saved as a checkpoint."""
    from ict_core.config.inputs import Architecture
    from ict_core.problems.mini.tokenizer import train_tokenizer
    from ict_core.store.layout import MANIFEST
    from ict_core.store.manifests import file_hashes, write_manifest
    from ict_core.training.pretrain import build_model, save_checkpoint

    sizes = Architecture(
        hidden_size=64, layers=2, heads=2, kv_heads=2, intermediate_size=64, vocab_size=352, max_positions=160
    )
    folder = tmp_path_factory.mktemp("tiny") / "model"
    tokenizer = train_tokenizer(sizes.vocab_size)
    save_checkpoint(build_model(sizes, tokenizer, seed=0), tokenizer, folder)
    write_manifest(folder.parent / MANIFEST, {"files": file_hashes(folder.parent)})
    return folder


@pytest.fixture(scope="session")
def in_namespace() -> Callable[..., str]:
    """Runs commands one after the other where they may mount, as no other process sees it; returns what they print."""
    command = ["unshare", "--map-root-user", "--mount", "bash", "-c"]
    possible = subprocess.run([*command, "mount -t tmpfs none /mnt"], capture_output=True, check=False)
    if possible.returncode:
        pytest.skip("this user may not mount in a namespace of its own")

    def run(*commands: str) -> str:
        return subprocess.run([*command, " && ".join(commands)], capture_output=True, text=True, check=True).stdout

    return run


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window, by playwright."""
    needs("chromium", "libatomic1")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield found
        found.close()
