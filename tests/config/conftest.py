"""A copy of the project's configuration that a test may spoil."""

import shutil
from pathlib import Path

import pytest

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def configs(tmp_path, monkeypatch):
    shutil.copytree(CONFIGS, tmp_path / "configs")
    monkeypatch.chdir(tmp_path)  # messages name files from here
    return Path("configs")
