"""The project's own studies and assumptions, which the plan is made from."""

from pathlib import Path

import pytest

from ict_core.config import Study, load_study
from ict_core.tools.plan import PlanFile, read_plan

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def plan() -> PlanFile:
    return read_plan(REPOSITORY / "configs/plan.yaml")


@pytest.fixture(scope="session")
def paper() -> Study:
    return load_study(REPOSITORY / "configs/studies/paper.yaml")


@pytest.fixture(scope="session")
def mini() -> Study:
    return load_study(REPOSITORY / "configs/studies/mini.yaml")


@pytest.fixture(scope="session")
def sizes() -> Study:
    """`mini` on two models."""
    return load_study(REPOSITORY / "configs/studies/mini-sizes.yaml")
