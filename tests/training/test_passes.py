"""Packed passes against TRL's padded ones: the same statistics, loss and gradients, whatever is saved."""

import functools
import math
from fractions import Fraction

import pandas as pd
import pytest
import torch
from short_runs import Rule
from test_trainer import GRPO, built, recipe, top
from transformers import AutoTokenizer
from trl.trainer.utils import split_tensor_dict

from ict_core.config.methods import KlCov
from ict_core.models.read import read_model
from ict_core.training.choice import Choice
from ict_core.training.fast import packing, passes
from ict_core.training.objective import reward_advantages
from ict_core.training.passes import rows_of_groups
from ict_core.training.pretrain import save_checkpoint

B, P, T = 16, 7, 12
PROBLEMS = pd.DataFrame({"prompt": ["1"] * 8, "answer": ["1"] * 8, "answer_type": ["integer"] * 8})
RULES = {
    "grpo": GRPO,
    "20-entropy": Rule("high-entropy", "response", keywords=(("fraction", Fraction(1, 5)),)),
    "stapo": Rule("stapo", keywords=(("tau_p", 0.5), ("tau_h", 0.9))),
    "ict": top(Fraction(1, 10)),
    "random": top(Fraction(1, 10), "random"),
    "nothing": top(Fraction(0)),
}
LOPTI = Rule("lopti", "response", keywords=(("eta", 1e-20),))


@pytest.mark.parametrize(("micro_batch", "rows"), [(1, 4), (4, 4), (7, 4), (8, 8), (13, 12)])
def test_a_pass_has_whole_groups_and_at_least_one(micro_batch, rows):
    assert rows_of_groups(4, micro_batch) == rows


def rollouts(kl: bool, vocabulary: int = 300, examples: int = 0) -> dict[str, torch.Tensor]:
    """Four groups of random rollouts: prompts and lengths differ, some begin alike, one group has no advantage.

    Every prompt begins with so many tokens of worked examples.
    """
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, T + 1, (B, 1), generator=generator)
    mask = torch.arange(T) < lengths
    prompts = torch.randint(5, vocabulary, (4, P), generator=generator).repeat_interleave(4, 0)
    prompt_mask = (torch.arange(P) >= torch.tensor([0, 3, 1, 5]).repeat_interleave(4)[:, None]).long()
    completions = torch.randint(5, vocabulary, (B, T), generator=generator)
    completions[1::4, :4] = completions[::4, :4]
    advantages = torch.randn(B, generator=generator)
    advantages[4:8] = 0.0
    prompts = prompts * prompt_mask
    if examples:  # between padding and prompt, which is on the right
        before = torch.randint(5, vocabulary, (examples,), generator=generator)
        whole = [torch.cat([r[m == 0], before, r[m == 1]]) for r, m in zip(prompts, prompt_mask, strict=True)]
        prompts = torch.stack(whole)
        prompt_mask = (torch.arange(P + examples) >= P - prompt_mask.sum(1, keepdim=True)).long()
    batch = {
        "prompt_ids": prompts,
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
    def trainer_of(passes):
        training = recipe(kl_coef=request.param, temperature=0.8, passes=passes, token_sample_groups=1)
        trainer, _ = built(tiny_checkpoint, PROBLEMS, training, GRPO, tmp_path_factory.mktemp("scratch"))
        trainer.model.train()
        return trainer

    return trainer_of("dense"), trainer_of("packed")


@pytest.mark.parametrize(("micro_batches", "examples"), [(1, 40), (2, 0)], ids=["whole, worked examples", "in two"])
@pytest.mark.parametrize("rule", RULES)
def test_losses_and_gradients_are_those_of_the_dense_passes(trainers, rule, micro_batches, examples):
    dense, packed = trainers
    batch = rollouts(kl=dense._kl_coef != 0, examples=examples)
    losses, expected, inputs = gradients(dense, RULES[rule], batch, micro_batches)
    scale = max(gradient.abs().max().item() for gradient in expected.values())
    found_losses, found, found_inputs = gradients(packed, RULES[rule], batch, micro_batches)
    assert torch.equal(found_inputs["weights 0"], inputs["weights 0"])
    assert found_losses == pytest.approx(losses, abs=1e-6)
    for weight, gradient in expected.items():
        assert (found[weight] - gradient).abs().max() <= 1e-6 * scale, weight
    assert (scale == 0) == (rule == "nothing")


@pytest.mark.parametrize("cells", [2**14, 64], ids=["at once", "in parts"])
@pytest.mark.parametrize("rule", ["grpo", "ict"])
def test_a_gpu_s_layout_gives_the_same(trainers, rule, cells, monkeypatch):
    batch = rollouts(kl=trainers[0]._kl_coef != 0, examples=40)
    losses, expected, _ = gradients(trainers[0], RULES[rule], batch, 2)
    monkeypatch.setattr(packing, "_CELLS", cells)
    monkeypatch.setattr(passes, "pack", functools.partial(packing.pack, gpu=True))
    found_losses, found, _ = gradients(trainers[1], RULES[rule], batch, 2)
    assert found_losses == pytest.approx(losses, abs=1e-6)
    scale = max(gradient.abs().max().item() for gradient in expected.values())
    for weight, gradient in expected.items():
        assert (found[weight] - gradient).abs().max() <= 1e-6 * scale, weight


@pytest.fixture(scope="module")
def loud_checkpoint(tiny_checkpoint, tmp_path_factory):
    """A model whose logits are so large that rounding to half precision is seen in log-probabilities."""
    folder, model = tmp_path_factory.mktemp("loud"), read_model(tiny_checkpoint, "float32")
    model.get_input_embeddings().weight.data *= 30
    save_checkpoint(model, AutoTokenizer.from_pretrained(tiny_checkpoint), folder)
    return folder


def test_half_precision_with_a_reference_model(loud_checkpoint, tmp_path):
    """accelerate has the reference's own passes in autocast, unlike those of the model that is still to be prepared."""
    training = recipe(kl_coef=0.05, passes="packed", precision="bfloat16")
    trainer, _ = built(loud_checkpoint, PROBLEMS, training, GRPO, tmp_path / "scratch")
    losses, _, _ = gradients(trainer, GRPO, rollouts(kl=True), 1)
    assert math.isfinite(*losses)


@pytest.mark.parametrize("sampler", ["transformers", "vLLM"])
@pytest.mark.parametrize("rule", [GRPO, top(Fraction(1, 2)), LOPTI], ids=["grpo", "ict", "lopti"])
@pytest.mark.parametrize("kind", ["dense", "packed"])
def test_in_half_precision_every_update_begins_at_a_ratio_of_1(loud_checkpoint, tmp_path, kind, rule, sampler):
    training = recipe(steps=2, updates_per_rollout=2, passes=kind, precision="bfloat16")
    trainer, _ = built(loud_checkpoint, PROBLEMS, training, rule, tmp_path / "scratch")
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    batch = rollouts(kl=False)
    trainer._select_tokens(batch, step=0)
    if sampler == "vLLM":
        batch["old_per_token_logps"] = batch["logprob"]
        batch["importance_sampling_ratio"] = torch.ones_like(batch["logprob"])
    for update in range(2):
        trainer.state.global_step = update
        part = batch["advantages"][:, None] * batch[f"weights {update}"] / batch[f"normaliser {update}"][:, None] / B
        assert trainer.micro_batch_loss(trainer.model, batch).item() == pytest.approx(-part.sum().item(), abs=1e-6)
        assert update == 0 or batch["weights 1"].sum() > 8


def test_kl_cov_reads_the_tokens_that_a_rule_leaves_out_under_the_policy_of_the_update(tiny_checkpoint, tmp_path):
    penalty = KlCov(kind="kl-cov", share=0.2, coefficient=5.0)
    rule = Rule("top-score", keywords=top(Fraction(1, 2)).keywords, surrogate=penalty)
    losses = []
    for kind in ("dense", "packed"):
        training = recipe(steps=2, updates_per_rollout=2, passes=kind)
        trainer, _ = built(tiny_checkpoint, PROBLEMS, training, rule, tmp_path / kind)
        trainer.model.train()
        trainer.current_gradient_accumulation_steps = 1
        batch = rollouts(kl=False)
        trainer._select_tokens(batch, step=0)
        trainer.micro_batch_loss(trainer.model, batch)
        noise = torch.Generator().manual_seed(0)
        for weight in trainer.model.parameters():  # another policy than the one that sampled
            weight.data += 0.05 * torch.randn(weight.shape, generator=noise)
        trainer.state.global_step = 1
        losses.append(trainer.micro_batch_loss(trainer.model, batch).item())
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)


def test_a_step_of_one_micro_batch_reads_each_rollout_once_and_without_padding(trainers):
    packed, counted = trainers[1], []
    hook = packed.model.get_decoder().register_forward_pre_hook(
        lambda _, __, inputs: counted.append(inputs["inputs_embeds"].size(1)), with_kwargs=True
    )
    batch = rollouts(kl=packed._kl_coef != 0)
    gradients(packed, RULES["ict"], batch, 1)
    assert sum(counted) < batch["prompt_mask"].sum() + batch["completion_mask"].sum()
    before = list(counted)
    gradients(packed, RULES["ict"], rollouts(kl=packed._kl_coef != 0, examples=40), 1)
    hook.remove()
    assert counted[len(before) :] == [tokens + 40 for tokens in before]  # worked examples once a pass


def published(variant: str, rewards: list[float | None], lengths: list[int]) -> list[float]:
    """What each token of a row adds to the loss of a variant, times A, for float64: -w A / N, 0 where ungraded.

    From arXiv:2506.01347: PSR trains right answers and divides by their tokens, NSR wrong ones by theirs, W-REINFORCE
    both by the tokens of both, right ones with a tenth of the weight. What is neither is in none of these.
    """
    weighs = {"psr-published": (1.0, 0.0), "nsr-published": (0.0, 1.0), "w-reinforce-published": (0.1, 1.0)}[variant]
    of = {1.0: weighs[0], 0.0: weighs[1]}
    number = sum(length for reward, length in zip(rewards, lengths, strict=True) if of.get(reward))
    return [of.get(reward, 0.0) * (2 * (reward or 0.0) - 1) / number for reward in rewards]


@pytest.mark.parametrize("variant", ["psr-published", "nsr-published", "w-reinforce-published"])
def test_an_ungraded_answer_is_neither_right_nor_wrong(trainers, variant):
    trainer, batch = trainers[0], rollouts(kl=trainers[0]._kl_coef != 0)
    trainer._choice = Choice.of(variant)
    lengths = batch["completion_mask"].sum(1).tolist()
    for seed in range(4):
        draws = torch.randint(0, 3, (B,), generator=torch.Generator().manual_seed(seed)).tolist()
        rewards = [None, 0.0, 1.0, *([0.0, 1.0, None][draw] for draw in draws[3:])]
        batch["rewards"] = torch.tensor([torch.nan if reward is None else reward for reward in rewards])
        inputs = batch | {"advantages": reward_advantages(batch["rewards"])}
        trainer._select_tokens(inputs, step=1)
        part = (inputs["weights 0"] * inputs["advantages"][:, None]).double() / inputs["normaliser 0"][:, None] / B
        for row, wanted in enumerate(published(variant, rewards, lengths)):
            assert part[row, : lengths[row]].tolist() == pytest.approx([wanted] * lengths[row], rel=1e-6)
        ungraded = batch["rewards"].isnan()
        assert not inputs["weights 0"][ungraded].any()  # also no part of the KL term


@pytest.mark.parametrize(("of", "mean"), [("psr", 5), ("nsr", 1), ("w-reinforce", 6)])
def test_the_denominators_with_ungraded_answers_by_hand(trainers, of, mean):
    trainer, batch = trainers[0], rollouts(kl=trainers[0]._kl_coef != 0)
    trainer._choice = Choice.of(f"{of}-published")
    batch["completion_mask"] = (torch.arange(T) < torch.tensor([10, 10, 4, 10] * (B // 4))[:, None]).long()
    batch["rewards"] = torch.tensor([1.0, 1.0, 0.0, torch.nan] * (B // 4))  # of 4 answers 20, 4 and 24 tokens
    batch["advantages"] = reward_advantages(batch["rewards"])
    trainer._select_tokens(batch, step=1)
    assert set(batch["normaliser 0"].tolist()) == {mean}
