"""Runs that go wrong in one known way each, by hand, and one that does not."""

import numpy as np
import pandas as pd
import pytest

from ict_core.evidence.run_faults import run_faults, run_notes

STEPS = 32
GOOD = {
    "reward": np.linspace(0.2, 0.95, STEPS),
    "zero_advantage_share": np.linspace(0.3, 0.7, STEPS),
    "h1": np.linspace(1.0, 0.05, STEPS),
    "length_mean": np.linspace(40, 55, STEPS),
    "truncated_share": np.zeros(STEPS),
    "kl": np.linspace(0, 0.2, STEPS),
}


def faults(**changes) -> list[tuple[str, float, int]]:
    log = pd.DataFrame(GOOD | changes).assign(model="m", variant="v", seed=1, step=range(STEPS))
    found = run_faults(log.sample(frac=1, random_state=0))
    assert (found[["model", "variant", "seed"]] == ["m", "v", 1]).all(axis=None)
    return list(found[["fault", "value", "step"]].itertuples(index=False, name=None))


def half(before: float, after: float) -> np.ndarray:
    return np.repeat([before, after], STEPS // 2)


@pytest.mark.parametrize(
    ("changes", "word", "value", "step"),
    [  # a window of 4 steps: the mean is on the other side from the third or second step after the change on
        ({"reward": half(0.4, 0.32), "h1": half(1, 0.8)}, "reward lower", 0.08, 18),
        ({"reward": half(0.4, 0.4), "zero_advantage_share": half(0.5, 1), "h1": half(1, 0.8)}, "advantage", 1.0, 18),
        ({"reward": half(0.3, 0.4), "h1": half(1, 0.01)}, "entropy", 0.01, 19),
        ({"h1": half(1, 2)}, "entropy", 2.0, 17),
        ({"reward": half(0.4, 0.4), "length_mean": half(40, 80), "h1": half(1, 0.8)}, "length", 2.0, 18),
        ({"truncated_share": half(0, 0.2)}, "cut", 0.2, 18),
        ({"kl": np.where(np.arange(STEPS) < 28, 0.01, 4.0)}, "diverg", 4.0, 28),
    ],
)
def test_each_fault_is_named_with_its_number_and_its_first_step(changes, word, value, step):
    ((fault, found, first),) = faults(**changes)
    assert word in fault and found == pytest.approx(value) and first == step


CUT = np.full(STEPS, 0.5)


@pytest.mark.parametrize(
    ("changes", "since"),
    [
        ({}, []),  # a run that learns
        ({"truncated_share": np.where(np.arange(STEPS) < 10, CUT, 0)}, []),  # a fault that ends before the run does
        ({"truncated_share": CUT}, [0]),  # of every step
        ({"kl": np.full(STEPS, np.nan)}, []),  # without a divergence a run is judged by the rest
    ],
)
def test_a_fault_holds_until_the_end_of_the_run(changes, since):
    assert [step for *_, step in faults(**changes)] == since


def test_runs_of_a_variant_with_the_same_fault_are_one_row():
    cut = [np.where(np.arange(STEPS) < start, 0.0, share) for start, share in ((16, 0.2), (8, 0.4))]
    logs = [
        pd.DataFrame(GOOD | {"truncated_share": c}).assign(model="m", variant="v", seed=seed, step=range(STEPS))
        for seed, c in ((3, cut[0]), (1, cut[1]))
    ]
    assert run_notes(pd.concat(logs)).splitlines()[2:] == ["| m/v | 1, 3 | share of responses cut | 0.2 to 0.4 | 9 |"]
    assert run_notes(logs[0].assign(truncated_share=0.0)) == ""
