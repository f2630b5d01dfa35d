"""What stands in place of the clipped ratio: each by hand, and the same gradient where the policy has not moved."""

import math

import pytest
import torch
from pydantic import TypeAdapter

from ict_core.config.methods import Surrogate
from ict_core.training.objective import surrogate

KINDS = {
    "clip": {"low": 0.2, "high": 0.28},
    "cispo": {"high": 0.28},
    "dppo-tv": {"low": 0.2, "high": 0.1},
    "kl-cov": {"share": 0.34, "coefficient": 0.5},
}
MASK = torch.tensor([[True, True, True], [True, True, False]])
A = torch.tensor([[2.0], [-1.0]])


def kind(name: str) -> Surrogate:
    return TypeAdapter(Surrogate).validate_python({"kind": name, **KINDS[name]})


def found(name: str, new: list[list[float]], old: list[list[float]]):
    """The parts, the marks and the gradients by ln p, of probabilities before and after."""
    logps = torch.tensor(new).log().requires_grad_()
    parts, binds = surrogate(kind(name), logps, torch.tensor(old).log(), A, MASK)
    parts[MASK].sum().backward()
    return parts.detach(), binds, logps.grad


@pytest.mark.parametrize("name", KINDS)
def test_where_the_policy_has_not_moved_the_gradient_is_the_advantage(name):
    p = [[0.5, 0.1, 0.9], [0.3, 0.6, 1.0]]
    _, _, gradient = found(name, p, p)
    assert gradient[MASK].tolist() == pytest.approx(A.expand_as(MASK)[MASK].tolist())


def test_a_clip_of_its_own():
    parts, binds, gradient = found("clip", [[0.65, 0.63, 0.5], [0.35, 0.5, 1.0]], [[0.5] * 3, [0.5, 0.5, 1.0]])
    assert parts[0].tolist() == pytest.approx([2 * 1.28, 2 * 1.26, 2.0]) and parts[1, 0].item() == pytest.approx(-0.8)
    assert binds.tolist() == [[True, False, False], [True, False, False]]
    assert (gradient != 0).tolist() == [[False, True, True], [False, True, False]]


def test_cispo_cuts_the_weight_and_no_tokens_gradient():
    parts, binds, gradient = found("cispo", [[0.8, 0.5, 0.1], [0.8, 0.5, 1.0]], [[0.5] * 3, [0.5, 0.5, 1.0]])
    assert gradient[0].tolist() == pytest.approx([1.28 * 2, 2.0, 0.2 * 2])  # of a ratio of 1.6 as of one of 1.28
    assert gradient[1].tolist() == pytest.approx([-1.28, -1.0, 0.0])
    assert parts[0, 1].item() == pytest.approx(2 * math.log(0.5))
    assert binds.tolist() == [[True, False, False], [True, False, False]]


def test_dppo_leaves_out_what_has_moved_as_the_advantage_points():
    # by +0.15, -0.3 and +0.05 where A > 0 and the bound is 0.1; by -0.25 and +0.3 where A < 0 and it is 0.2
    parts, binds, gradient = found("dppo-tv", [[0.65, 0.2, 0.55], [0.25, 0.8, 1.0]], [[0.5] * 3, [0.5, 0.5, 1.0]])
    assert binds.tolist() == [[True, False, False], [True, False, False]]
    assert gradient[0].tolist() == pytest.approx([0, 0.4 * 2, 1.1 * 2])
    assert gradient[1].tolist() == pytest.approx([0, -1.6, 0])
    assert parts[0, 0] == 0
    _, _, rare = found("dppo-tv", [[1e-4, 0.5, 0.5], [0.5, 0.5, 1.0]], [[1e-6, 0.5, 0.5], [0.5, 0.5, 1.0]])
    assert rare[0, 0].item() == pytest.approx(20 * 2)  # a ratio of 100


def test_kl_cov_penalises_a_change_where_the_covariance_is_largest():
    new, old = [[0.9, 0.1, 0.5], [0.1, 0.6, 1.0]], [[0.8, 0.1, 0.5], [0.2, 0.6, 1.0]]
    logs = [math.log(p) for p in (0.9, 0.1, 0.5, 0.1, 0.6)]
    spread = [2.0, 2.0, 2.0, -1.0, -1.0]
    mean, middle = sum(logs) / 5, sum(spread) / 5
    cov = [(a - middle) * (p - mean) for a, p in zip(spread, logs, strict=True)]
    assert cov.index(max(cov)) == 3  # floor(0.34 * 5) = 1 token
    parts, binds, gradient = found("kl-cov", new, old)
    assert binds.tolist() == [[False] * 3, [True, False, False]]
    assert parts[1, 0].item() == pytest.approx(0.5 * -1 - 0.5 * math.log(2))
    assert gradient[1, 0].item() == pytest.approx(0.5 * -1 + 0.5)  # ln p has fallen: the penalty would have it rise
    assert parts[0, 0].item() == pytest.approx(0.9 / 0.8 * 2)  # no clip
