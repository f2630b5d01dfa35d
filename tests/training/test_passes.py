"""Packed passes against TRL's padded ones: the same statistics, loss and gradients, whatever is saved."""

from fractions import Fraction
from itertools import pairwise

import pandas as pd
import pytest
import torch
from short_runs import MODEL
from test_trainer import GRPO, LengthPool, Rule, recipe, top
from trl.trainer.utils import split_tensor_dict

from ict_core.training import Choice, Levers, TrainingRun, build_trainer

B, P, T = 16, 7, 12
NOTHING = Levers(share=False, skip=False, cut=False, sparse=False, one_pass=False)
SWITCHES = {
    "all": Levers(),
    "none": NOTHING,
    **{f"without {name}": Levers(**{name: False}) for name in vars(NOTHING)},
    **{f"{name} alone": Levers(**vars(NOTHING) | {name: True}) for name in vars(NOTHING)},
}
RULES = {
    "grpo": GRPO,
    "20-entropy": Rule("high-entropy", "response", keywords=(("fraction", Fraction(1, 5)),)),
    "stapo": Rule("stapo", keywords=(("tau_p", 0.5), ("tau_h", 0.9))),
    "ict": top(Fraction(1, 10)),
    "random": top(Fraction(1, 10), "random"),
    "nothing": top(Fraction(0)),
}


def rollouts(kl: bool) -> dict[str, torch.Tensor]:
    """Four groups of random rollouts: prompts and lengths differ, some begin alike, one group has no advantage."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, T + 1, (B, 1), generator=generator)
    mask = torch.arange(T) < lengths
    prompts = torch.randint(5, 300, (4, P), generator=generator).repeat_interleave(4, 0)
    prompt_mask = (torch.arange(P) >= torch.tensor([0, 3, 1, 5]).repeat_interleave(4)[:, None]).long()
    completions = torch.randint(5, 300, (B, T), generator=generator)
    completions[1::4, :4] = completions[::4, :4]
    advantages = torch.randn(B, generator=generator)
    advantages[4:8] = 0.0
    batch = {
        "prompt_ids": prompts * prompt_mask,
        "prompt_mask": prompt_mask,
        "completion_ids": completions * mask,
        "completion_mask": mask.long(),
        "rewards": torch.zeros(B),
        "advantages": advantages,
    }
    return batch | ({"ref_per_token_logps": -5 * torch.rand(B, T, generator=generator)} if kl else {})


def gradients(trainer, rule, batch, micro_batches):
    """Of one step, with the loss of each micro-batch."""
    trainer._choice = Choice.of(rule)
    trainer.args.gradient_accumulation_steps = trainer.current_gradient_accumulation_steps = micro_batches
    trainer.model.zero_grad()
    inputs = dict(batch)
    trainer._select_tokens(inputs, step=1)
    losses = []
    for part in split_tensor_dict(inputs, micro_batches):
        loss = trainer.micro_batch_loss(trainer.model, part)
        loss.backward()
        losses.append(loss.item())
    return losses, {name: p.grad.clone() for name, p in trainer.model.named_parameters()}, inputs


@pytest.fixture(scope="module", params=[0.0, 0.05], ids=["", "KL"])
def trainers(request, tiny_checkpoint, tmp_path_factory):
    problems = pd.DataFrame({"prompt": ["1"] * 8, "answer": ["1"] * 8, "answer_type": ["integer"] * 8})

    def trainer(passes):
        training = recipe(kl_coef=request.param, temperature=0.8, passes=passes, token_sample_groups=1)
        scratch = tmp_path_factory.mktemp("scratch")
        built, _ = build_trainer(
            TrainingRun(tiny_checkpoint, problems, MODEL, training, GRPO, 0), LengthPool(), scratch
        )
        built.model.train()
        return built

    return trainer("dense"), trainer("packed")


@pytest.mark.parametrize("micro_batches", [1, 2], ids=["whole", "in two"])
@pytest.mark.parametrize("rule", RULES)
def test_gradients_are_those_of_the_dense_passes_with_every_switch(trainers, rule, micro_batches):
    dense, packed = trainers
    batch = rollouts(kl=dense._kl_coef != 0)
    losses, expected, inputs = gradients(dense, RULES[rule], batch, micro_batches)
    scale = max(gradient.abs().max().item() for gradient in expected.values())
    for name, levers in SWITCHES.items():
        packed._packed.levers = levers
        found_losses, found, found_inputs = gradients(packed, RULES[rule], batch, micro_batches)
        assert torch.equal(found_inputs["weights 0"], inputs["weights 0"]), name
        assert found_losses == pytest.approx(losses, abs=1e-6), name
        for weight, gradient in expected.items():
            assert (found[weight] - gradient).abs().max() <= 1e-6 * scale, (name, weight)
    assert (scale == 0) == (rule == "nothing")


def test_each_saving_takes_tokens_out_of_the_update(trainers):
    _, packed = trainers
    kl = packed._kl_coef != 0
    counted = []
    hook = packed.model.get_decoder().register_forward_pre_hook(
        lambda _, __, inputs: counted.append(inputs["inputs_embeds"].size(1)), with_kwargs=True
    )
    savings = ["share", "skip", "cut"]
    for number in range(len(savings) + 1):
        packed._packed.levers = Levers(
            **vars(NOTHING) | dict.fromkeys(savings[:number], True) | {"sparse": number == 3}
        )
        gradients(packed, RULES["ict"], rollouts(kl), 1)
    hook.remove()
    updates = counted[1::2]  # every second pass is that of the statistics
    padded = B * (P + T)
    assert all(more > fewer or (kl and i == 2) for i, (more, fewer) in enumerate(pairwise([padded, *updates])))
