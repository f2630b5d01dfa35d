"""TRL without vLLM in pytest's own processes, as in every training without it; and a pool that gives rewards."""

from contextlib import nullcontext

import pytest
from short_runs import LengthPool, leave_vllm_out

leave_vllm_out()


@pytest.fixture
def rewards(monkeypatch):
    """In the place of the real pool, from which a random model gets none."""
    monkeypatch.setattr("ict_core.training.run.GradingPool", lambda **_: nullcontext(LengthPool()))
