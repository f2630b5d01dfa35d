"""TRL's adaptive coefficient by hand, and what a bonus is refused with."""

from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from pydantic import ValidationError
from trl import GRPOConfig

from ict_core.config import EntropyBonus
from ict_core.errors import UserError
from ict_core.training._entropy_bonus import coefficient, follow, has_bonus


def trainer(first: float, **arguments):
    stated = {"entropy_target": 1.0, "entropy_coef_delta": 0.4, "entropy_coef_min": 0.0, "entropy_coef_max": 1.0}
    args = SimpleNamespace(**stated | arguments)
    state = {"use_adaptive_entropy": True, "_last_world_entropy": float("inf"), "entropy_coef": first}
    return SimpleNamespace(args=args, accelerator=Accelerator(cpu=True), **state)


def test_an_adaptive_coefficient_rises_below_its_target_and_counts_after_it():
    own = trainer(0.3)
    found = [coefficient(own)]
    # two micro-batches of 3 and 1 tokens: means of 0.5, 1.0, 1.0, 2.0 and 0.25 nats
    for entropies in (
        [0.5, 0.5, 0.5, 0.5],
        [1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 4.0],
        [2.0] * 4,
        [0.0, 0.0, 0.0, 1.0],
    ):
        follow(own, [torch.tensor(entropies[:3]), torch.tensor(entropies[3:])])
        found.append(coefficient(own))
    # none before the first; 0.7, then 1.1 held to 1, 1 again; 0.6, which does not count; 1 again
    assert found == pytest.approx([0.0, 0.7, 1.0, 1.0, 0.0, 1.0])


def test_an_adaptive_coefficient_is_never_negative():
    own = trainer(0.3, entropy_target=0.1)
    follow(own, [torch.ones(2)])
    assert own.entropy_coef == 0.0


def test_a_fixed_coefficient_stays(tmp_path):
    own = trainer(0.3)
    own.use_adaptive_entropy = False
    follow(own, [torch.ones(2)])
    assert coefficient(own) == own.entropy_coef == 0.3


@pytest.mark.parametrize("stated", [{"entropy_coef": 0.1}, {"use_adaptive_entropy": True}])
def test_a_bonus_beside_a_rule_that_leaves_tokens_out_is_refused(stated, tmp_path):
    args = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **stated)
    assert has_bonus(args, keeps_every_token=True)
    with pytest.raises(UserError, match="entropy_coef"):
        has_bonus(args, keeps_every_token=False)
    assert not has_bonus(GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False), keeps_every_token=False)


@pytest.mark.parametrize(
    "stated", [{"coefficient": 0.1, "target": 1.0}, {"coefficient": 0.1, "delta": 0.1}, {"coefficient": 0.0}]
)
def test_half_of_an_adaptive_bonus_and_an_idle_one_are_refused(stated):
    with pytest.raises(ValidationError):
        EntropyBonus.model_validate(stated)
