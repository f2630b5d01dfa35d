"""Whole-trajectory tests: against TRL's own trainer, against itself, and across micro-batchings."""

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from launch import RECIPE
from pydantic import TypeAdapter, ValidationError
from short_runs import MODEL, LengthPool, Rule
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOTrainer

from ict_core.config.load import load_study
from ict_core.config.methods import EntropyBonus, Surrogate, Training
from ict_core.errors import UserError
from ict_core.problems.mini.decisions import decision_tokens
from ict_core.problems.mini.problems import training_problems
from ict_core.seeding import derive_seed, generator
from ict_core.store.layout import METHODS
from ict_core.training.fast.sampling import sample_lean
from ict_core.training.resume import StopAfter
from ict_core.training.rewards import verifier_reward
from ict_core.training.run import TrainingRun, build_trainer, grpo_config
from ict_core.training.token_log import TrainingLog
from ict_core.training.trainer import SelectiveGRPOTrainer
from ict_core.training.trl_arguments import bonus_arguments

STEPS = 3


def recipe(**changes: Any) -> Training:
    own = {"prompts_per_step": 4, "steps": STEPS, "kl_coef": 0.0, "temperature": 1.0, "micro_batch_sequences": 16}
    return Training.model_validate_json(json.dumps(RECIPE | own | {"token_sample_groups": 4} | changes))


GRPO = Rule("grpo", "response")


def top(fraction: Fraction, score: str = "js", **more: Any) -> Rule:
    keywords = {"score": score, "scope": "sequence", "fraction": fraction, "keep": "top"}
    return Rule("top-score", keywords=tuple(keywords.items()), **more)


@pytest.fixture(scope="module")
def problems() -> pd.DataFrame:
    return training_problems(0, 40, set())


def built(checkpoint, problems, training, method, folder, seed=0, pool=None, known=False):
    """A trainer and the log that it fills; in the folder its checkpoints."""
    training_run = TrainingRun(checkpoint, problems, MODEL, training, method, seed, known_forks=known)
    return build_trainer(training_run, pool or LengthPool(), folder)


@pytest.fixture
def train(tiny_checkpoint, problems, tmp_path):
    """A training's weights and log; its rollouts by the lean loop or by TRL's own, whatever the passes."""

    def train(training, method, stop_after=None, lean=True, folder="scratch", **more):
        trainer, log = built(tiny_checkpoint, problems, training, method, tmp_path / folder, **more)
        if lean and training.passes == "dense":
            sample_lean(trainer.model)
        elif not lean and training.passes == "packed":
            del trainer.model.generate
        if stop_after is not None:
            trainer.add_callback(StopAfter(stop_after))
        trainer.train()
        return trainer.model.state_dict(), log

    return train


class FirstGroupAlone:
    """Grades that differ in the first group of four alone."""

    def grade(self, items):
        return [SimpleNamespace(status="correct" if number == 0 else "wrong") for number in range(len(items))]


class SeededGRPO(GRPOTrainer):
    """TRL's trainer with the rollout seeds of ours."""

    def _generate_and_score_completions(self, inputs):
        torch.manual_seed(derive_seed(0, "rollout", self.state.global_step))
        return super()._generate_and_score_completions(inputs)


def assert_equal_weights(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> None:
    assert a.keys() == b.keys()
    assert [name for name in a if not torch.equal(a[name], b[name])] == []


class OfRewards(SeededGRPO):
    """The same with 1 of a right and -1 of a wrong answer as the advantage."""

    def _calculate_rewards(self, *others):
        self.given = super()._calculate_rewards(*others)
        return self.given

    def _generate_and_score_completions(self, inputs):
        batch = super()._generate_and_score_completions(inputs)
        batch["advantages"] = torch.where(self.given[:, 0] == 1, 1.0, -1.0)
        return batch


@pytest.fixture
def by_trl(tiny_checkpoint, problems, tmp_path):
    """The weights and the history of TRL's own trainer, by our recipe and with our reward."""

    def by_trl(training, kind=SeededGRPO, lean=True, **arguments):
        torch.manual_seed(0)
        args = grpo_config(training, 0, tmp_path / "trl")
        for name, value in arguments.items():
            setattr(args, name, value)
        trainer = kind(
            model=AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype="float32"),
            processing_class=AutoTokenizer.from_pretrained(tiny_checkpoint),
            reward_funcs=[verifier_reward(LengthPool())],
            args=args,
            train_dataset=Dataset.from_pandas(problems[["prompt", "answer", "answer_type"]], preserve_index=False),
        )
        if lean:
            sample_lean(trainer.model)
        trainer.train()
        return trainer.model.state_dict(), pd.DataFrame(trainer.state.log_history[:-1])

    return by_trl


@pytest.fixture(scope="module")
def start(tiny_checkpoint):
    """The weights that every training begins with."""
    return AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype="float32").state_dict()


@pytest.mark.parametrize(
    ("training", "everything"),
    [
        (recipe(), GRPO),
        (recipe(micro_batch_sequences=8, temperature=0.8, kl_coef=0.05), top(Fraction(1))),
    ],
    ids=["plain", "ICT at 100 %, two micro-batches, temperature, KL"],
)
def test_with_everything_selected_it_is_trl_bit_for_bit(train, by_trl, start, training, everything):
    training = training.changed(passes="dense")
    trl, _ = by_trl(training, lean=False)
    ours, _ = train(training, everything, lean=False)
    assert_equal_weights(ours, trl)
    assert any(not torch.equal(start[name], value) for name, value in ours.items())


def test_packed_passes_train_as_trl_does_with_its_own_sampler(train, by_trl):
    training = recipe(kl_coef=0.05, micro_batch_sequences=8, learning_rate=1e-4)
    trl, told = by_trl(training, lean=False)
    ours, log = train(training, GRPO, lean=False)
    steps = log.steps()
    assert steps["tokens"].tolist() == (told["completions/mean_length"] * 16).tolist()
    for name in ("reward", "reward_std", "grad_norm"):
        assert steps[name].tolist() == pytest.approx(told[name].tolist(), rel=1e-4), name
    for name, weight in trl.items():  # 3 steps of at most 1e-4, whose signs rounding may turn
        assert (ours[name] - weight).abs().mean() < 1e-7, name


def test_rewards_as_advantages_are_trl_with_those_in_their_place(train, by_trl):
    training = recipe(passes="dense")
    trl, _ = by_trl(training, OfRewards)
    ours, log = train(training, Rule("grpo", "response", advantage="reward"))
    assert_equal_weights(ours, trl)
    tokens = log.tokens()
    assert set(tokens["advantage"].unique()) == {-1.0, 1.0}
    assert (log.steps()["zero_advantage_share"] == 0).all()  # as groups of equal rewards are trained too


def test_wrong_answers_alone_are_trained_in_every_group_by_both_passes(train):
    sign = (("positive", 0.0), ("negative", 1.0))
    wrong = Rule("sign", "batch_kept", keywords=sign, advantage="reward")
    packed, log = train(recipe(), wrong)
    dense, _ = train(recipe(passes="dense"), wrong)
    tokens = log.tokens()
    assert tokens["kept"].tolist() == (tokens["advantage"] == -1).tolist() and set(tokens["kept"]) == {True, False}
    for name, weight in dense.items():
        assert (packed[name] - weight).abs().mean() < 1e-5, name


def test_a_run_repeats_and_a_seed_changes_it(train):
    method, training = top(Fraction(1, 4), "random"), recipe(steps=2)
    first, first_log = train(training, method)
    again, again_log = train(training, method)
    other, other_log = train(training, method, seed=1)
    assert_equal_weights(first, again)
    pd.testing.assert_frame_equal(first_log.steps(), again_log.steps())
    pd.testing.assert_frame_equal(first_log.tokens(), again_log.tokens())
    assert not first_log.tokens()["token"].equals(other_log.tokens()["token"])
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_a_schedule_is_trls(tmp_path):
    stated = {name: grpo_config(recipe(lr_schedule=name), 0, tmp_path) for name in (None, "linear")}
    assert [args.lr_scheduler_type for args in stated.values()] == ["constant_with_warmup", "linear"]


def test_another_rule_leaves_order_and_first_rollouts_alone(tiny_checkpoint, problems, tmp_path):
    orders, logs = [], []
    for method in (GRPO, top(Fraction(1, 4), "random")):
        trainer, log = built(tiny_checkpoint, problems, recipe(), method, tmp_path)
        seen, prepare = [], trainer._generate_and_score_completions
        trainer._generate_and_score_completions = lambda rows, seen=seen, prepare=prepare: (
            seen.append([row["prompt"] for row in rows]) or prepare(rows)
        )
        trainer.train()
        orders.append(seen)
        logs.append(log.tokens())
    assert orders[0] == orders[1] and len(orders[0]) == STEPS
    first, other = (log[log["step"] == 0] for log in logs)
    same = ["group", "rollout", "position", "token", "logprob", "h1", "advantage"]
    pd.testing.assert_frame_equal(first[same], other[same])
    assert not first["kept"].equals(other["kept"])


@pytest.mark.parametrize(
    "method",
    [Rule("high-entropy", keywords=(("fraction", Fraction(1, 5)),)), top(Fraction(1, 5), "kl")],
    ids=["high-entropy", "kl"],
)
def test_selection_does_not_depend_on_micro_batching(train, method):
    _, whole = train(recipe(steps=1), method)
    _, split = train(recipe(steps=1, micro_batch_sequences=4), method)
    assert 0 < whole.steps()["kept_share"].item() < 1
    assert whole.tokens()["kept"].tolist() == split.tokens()["kept"].tolist()
    assert whole.steps()["grad_norm"].item() == pytest.approx(split.steps()["grad_norm"].item(), rel=1e-3)


def test_warm_up_trains_every_token_then_the_mask_is_on(train):
    rule = top(Fraction(1, 10), warmup=2)
    _, log = train(recipe(), rule)
    grpo, _ = train(recipe(steps=2), GRPO)
    warm, _ = train(recipe(), rule, stop_after=2)
    steps = log.steps()
    assert steps["selecting"].tolist() == [False, False, True]
    assert steps["kept_share"].tolist()[:2] == [1.0, 1.0]
    assert steps["kept_share"].iloc[2] < 0.2
    assert_equal_weights(grpo, warm)


def test_unselected_tokens_give_the_model_no_gradient(tiny_checkpoint, problems, tmp_path):
    trainer, _ = built(tiny_checkpoint, problems, recipe(kl_coef=0.05), GRPO, tmp_path)
    trainer.model.train()
    rows = [dict(row) for row in trainer.train_dataset.select(range(4)) for _ in range(4)]
    batch = trainer._generate_and_score_completions(rows)
    trainer.current_gradient_accumulation_steps = 1
    dropped = batch | {"weights 0": torch.zeros_like(batch["weights 0"])}
    trainer.micro_batch_loss(trainer.model, dropped).backward()
    assert all((p.grad == 0).all() for p in trainer.model.parameters() if p.grad is not None)
    trainer.micro_batch_loss(trainer.model, batch).backward()
    assert any((p.grad != 0).any() for p in trainer.model.parameters())


def test_the_shared_start_has_no_divergence_and_one_update_binds_nowhere(train):
    _, log = train(recipe(kl_coef=0.05), top(Fraction(1, 5)))
    tokens = log.tokens()
    assert (tokens.loc[tokens["position"] == 0, "js"] == 0).all()
    assert tokens["js"].max() > 0
    assert (log.steps()["clip_share"] == 0).all()  # one update a batch is on-policy
    assert log.steps()["kl"].iloc[0] == pytest.approx(0, abs=1e-6)
    assert log.steps()["kl"].iloc[-1] > 0


def test_the_sample_is_looked_at_again_after_the_update(train):
    rule = top(Fraction(1, 5))
    _, still = train(recipe(steps=1, learning_rate=1e-12), rule)
    tokens = still.tokens()
    for name in ("logprob", "h1", "h2"):  # the same tokens in the same states under the same weights
        assert (tokens[f"{name}_after"] - tokens[name]).abs().max() < 1e-5  # a part of a batch rounds otherwise
    _, moved = train(recipe(steps=1), GRPO)
    tokens = moved.tokens()
    assert tokens["fork"].isna().all()  # of these problems none is known
    gain = tokens["logprob_after"] - tokens["logprob"]
    assert gain[tokens["advantage"] > 0].mean() > 0 > gain[tokens["advantage"] < 0].mean()


def test_weights_of_one_are_grpo_bit_for_bit_and_others_are_not(train):
    rules = {
        "grpo": GRPO,
        "ones": Rule("sign", "response", keywords=(("positive", 1.0), ("negative", 1.0))),
        "soft": Rule("sign", "response", keywords=(("positive", 0.5), ("negative", 1.5))),
        "permuted": Rule("sign", "response", keywords=(("positive", 1.0), ("negative", 0.0)), control="permuted-batch"),
    }
    made = {name: train(recipe(steps=2), rule) for name, rule in rules.items()}
    assert_equal_weights(made["grpo"][0], made["ones"][0])
    for name in ("soft", "permuted"):
        assert any(not torch.equal(made["grpo"][0][key], made[name][0][key]) for key in made[name][0])
    steps = {name: log.steps() for name, (_, log) in made.items()}
    pd.testing.assert_frame_equal(steps["ones"], steps["grpo"])
    assert (steps["soft"]["kept_share"] < 1).all() and (steps["permuted"]["kept_share"] < 1).all()
    assert (made["soft"][1].tokens()["kept"]).all()


@pytest.mark.parametrize("passes", ["packed", "dense"])
def test_two_updates_of_a_batch_are_trls_two_iterations(train, by_trl, start, passes):
    training = recipe(steps=4, updates_per_rollout=2, passes=passes, clip_low=0.001, clip_high=0.001)
    ours, log = train(training, GRPO)
    trl, told = by_trl(training)
    for name, weight in trl.items():
        assert (ours[name] - weight).abs().mean() < 1e-6 < (weight - start[name]).abs().mean(), name
    steps = log.steps()
    assert steps["clip_share"].tolist() == pytest.approx(told["clip_ratio/region_mean"].tolist(), abs=1e-3)
    assert steps["step"].tolist() == [0, 1, 2, 3] == log.timing()["step"].tolist()
    assert (steps["tokens"] > 0).tolist() == [True, False, True, False]
    assert steps["reward"].iloc[0] == steps["reward"].iloc[1]
    assert (steps["clip_share"] > 0).tolist() == [False, True, False, True]
    assert log.tokens()["step"].unique().tolist() == [0, 2] and log.tokens()["logprob_after"].notna().all()


@pytest.mark.parametrize("surrogate", [{"kind": "clip", "low": 1e-4, "high": 1e-4}, {"kind": "cispo", "high": 1e-4}])
def test_the_clipped_share_is_that_of_the_kept_tokens_by_both_passes(train, surrogate):
    rule, shares = top(Fraction(1, 5), surrogate=TypeAdapter(Surrogate).validate_python(surrogate)), []
    for passes in ("packed", "dense"):
        training = recipe(steps=2, updates_per_rollout=2, passes=passes)
        _, log = train(training, rule, pool=FirstGroupAlone())  # three of four groups have no advantage
        shares.append(log.steps()["clip_share"].tolist())
    assert shares[0][0] == 0 < shares[0][1] < 0.25 + 0.1
    assert shares[0] == pytest.approx(shares[1], abs=1e-3)


@pytest.mark.parametrize(
    ("passes", "stated"),
    [("dense", {"coefficient": 0.3}), ("packed", {"coefficient": 0.3, "target": 9.0, "delta": 0.2})],
    ids=["dense, fixed", "packed, adaptive"],
)
def test_an_entropy_bonus_is_trls(train, by_trl, passes, stated):
    bonus, training = EntropyBonus.model_validate(stated), recipe(passes=passes, kl_coef=0.05)
    method = replace(GRPO, entropy_bonus=bonus)
    ours, log = train(training, method)
    plain, _ = train(training, GRPO)
    for name, weight in by_trl(training, **bonus_arguments(bonus))[0].items():
        torch.testing.assert_close(ours[name], weight, atol=5e-6, rtol=0)
    assert max((ours[name] - plain[name]).abs().max() for name in ours) > 1e-4
    _, split = train(training.changed(micro_batch_sequences=4), method)
    assert split.steps()["grad_norm"].tolist() == pytest.approx(log.steps()["grad_norm"].tolist(), rel=1e-3)


def test_an_entropy_bonus_is_of_the_tokens_without_an_advantage_too(train):
    class NoneGradedFirst:
        def grade(self, items):
            return [SimpleNamespace(status="error" if n == 0 else "correct") for n in range(len(items))]

    method = replace(GRPO, entropy_bonus=EntropyBonus(coefficient=0.3), advantage="reward")
    norms = []
    for passes in ("packed", "dense"):
        _, log = train(recipe(passes=passes), method, pool=NoneGradedFirst())
        norms.append(log.steps()["grad_norm"].tolist())
    assert norms[0] == pytest.approx(norms[1], rel=1e-3)


@pytest.mark.parametrize(
    "stated", [{"coefficient": 0.1, "target": 1.0}, {"coefficient": 0.1, "delta": 0.1}, {"coefficient": 0.0}]
)
def test_half_of_an_adaptive_bonus_and_an_idle_one_are_refused(stated):
    with pytest.raises(ValidationError):
        EntropyBonus.model_validate(stated)


def test_an_adaptive_bonus_goes_on_where_its_training_was_stopped(train, tiny_checkpoint, problems, tmp_path):
    bonus = EntropyBonus(coefficient=0.3, target=9.0, delta=0.2)
    method, training = replace(GRPO, entropy_bonus=bonus), recipe(checkpoint_every=2, steps=4)
    whole, _ = train(training, method, folder="whole")
    train(training, method, stop_after=2)
    trainer, _ = built(tiny_checkpoint, problems, training, method, tmp_path / "again")
    trainer.train(resume_from_checkpoint=str(tmp_path / "scratch/checkpoint-2"))
    assert_equal_weights(trainer.model.state_dict(), whole)


def test_lopti_trains_improbable_tokens_and_then_the_others(train):
    training = recipe(steps=2, updates_per_rollout=2)
    rule = Rule("lopti", "response", keywords=(("eta", 0.003),))
    weights, log = train(training, rule)
    tokens = log.tokens()
    assert (tokens["kept"] == (np.exp(tokens["logprob"]) < 0.003)).all() and 0 < tokens["kept"].mean() < 1
    shares = log.steps()["kept_share"]
    assert shares[0] == pytest.approx(tokens["kept"].mean()) and shares.sum() == pytest.approx(1)
    low, high = log.steps()["h1_kept"]
    assert low != high and shares[0] * low + shares[1] * high == pytest.approx(log.steps()["h1"][0], rel=1e-4)
    first, _ = train(training, Rule("lopti", "response", keywords=(("eta", 1e-9),)))
    assert any(not torch.equal(weights[name], first[name]) for name in weights)


def test_a_penalty_where_no_answer_is_better_is_the_same_by_both_passes(train):
    """KL-Cov's does not vanish with the advantage, so the rows of groups of equal rewards are read too."""
    chosen = TypeAdapter(Surrogate).validate_python({"kind": "kl-cov", "share": 0.9, "coefficient": 5.0})
    rule, made = Rule("grpo", "response", surrogate=chosen), []
    for passes in ("packed", "dense"):
        training = recipe(steps=2, updates_per_rollout=2, passes=passes)
        weights, log = train(training, rule, pool=FirstGroupAlone())
        assert log.steps()["zero_advantage_share"].tolist() == [0.75, 0.75]
        made.append(weights)
    for name, weight in made[0].items():
        # Adam makes much of the rounding of a gradient that is nearly zero
        torch.testing.assert_close(weight, made[1][name], atol=5e-6, rtol=0)


@pytest.mark.parametrize("passes", ["packed", "dense"])
def test_kl_cov_over_the_batch_chooses_the_same_tokens_in_any_micro_batches(train, passes):
    def steps(rows: int, **scope: str) -> pd.DataFrame:
        stated = {"kind": "kl-cov", "share": 1e-4, "coefficient": 50.0, **scope}  # one token of those it looks at
        rule = Rule("grpo", "response", surrogate=TypeAdapter(Surrogate).validate_python(stated))
        training = recipe(steps=2, updates_per_rollout=2, passes=passes, micro_batch_sequences=rows)
        return train(training, rule)[1].steps()

    whole, split, apart, together = steps(16, scope="batch"), steps(4, scope="batch"), steps(4), steps(16)
    chosen = [(log["clip_share"] * whole["tokens"][0]).tolist() for log in (whole, split, apart)]
    assert chosen == [pytest.approx([1, 1]), pytest.approx([1, 1]), pytest.approx([4, 4])]
    for other in (split, together):
        assert whole["grad_norm"].tolist() == pytest.approx(other["grad_norm"].tolist(), rel=1e-3)
    assert apart["grad_norm"][1] != pytest.approx(whole["grad_norm"][1], rel=1e-3)


def test_a_random_reward_is_drawn_by_seed_and_step(train):
    _, log = train(recipe(), Rule("grpo", "response", random_reward=0.3), seed=5)
    drawn = [generator(5, "random reward", step, 0).random(16) < 0.3 for step in range(STEPS)]
    assert log.steps()["reward"].tolist() == pytest.approx([rights.mean() for rights in drawn])


def test_known_forks_are_marked_where_the_problems_have_them(train):
    assert train(recipe(steps=1), GRPO, known=True)[1].tokens()["fork"].isin([0, 1]).all()


def test_the_tokens_that_decide_are_trained_where_the_steps_are_known(tiny_checkpoint, problems, tmp_path):
    rule, tokenizer = Rule("oracle-decisions", "response"), AutoTokenizer.from_pretrained(tiny_checkpoint)
    trainer, log = built(tiny_checkpoint, problems, recipe(steps=1), rule, tmp_path, known=True)
    batches, scored = [], trainer._generate_and_score_completions
    trainer._generate_and_score_completions = lambda inputs: batches.append(scored(inputs)) or batches[-1]
    trainer.train()
    batch = batches[0]
    for row, on in enumerate(batch["completion_mask"].bool()):
        prompt = tokenizer.decode(batch["prompt_ids"][row][batch["prompt_mask"][row].bool()])
        wanted = decision_tokens(tokenizer, prompt, batch["completion_ids"][row][on].tolist())
        assert batch["weights 0"][row][on].tolist() == wanted and not batch["weights 0"][row][~on].any()
    assert 0 < log.steps()["kept_share"][0] < 1
    with pytest.raises(UserError, match="oracle-decisions reads"):
        built(tiny_checkpoint, problems, recipe(steps=1), rule, tmp_path)


def test_bfloat16_rounds_the_passes_and_keeps_the_weights_in_float32(train):
    method = top(Fraction(1, 5))
    training = recipe(steps=1, kl_coef=0.05)
    half = training.model_copy(update={"precision": "bfloat16"})
    exact, exact_log = train(training, method)
    rounded, rounded_log = train(half, method)
    assert {weight.dtype for weight in rounded.values()} == {torch.float32}
    assert any(not torch.equal(rounded[name], weight) for name, weight in exact.items())
    a, b = exact_log.steps().iloc[0], rounded_log.steps().iloc[0]
    assert a["h1"] != b["h1"] == pytest.approx(a["h1"], rel=1e-3)
    assert a["kept_share"] == b["kept_share"]
    assert b["grad_norm"] > 0


def test_a_name_trains_the_same_tokens_in_a_script_and_in_a_study(train, tiny_checkpoint, problems, tmp_path):
    study = load_study(METHODS.parent / "studies/smoke.yaml")
    training = recipe(kl_coef=0.01, steps=4)
    weights, log = train(training, study.methods["ict-10"])
    trainer = SelectiveGRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype="float32"),
        processing_class=AutoTokenizer.from_pretrained(tiny_checkpoint),
        reward_funcs=verifier_reward(LengthPool()),
        args=grpo_config(training, 0, tmp_path / "own"),
        train_dataset=Dataset.from_pandas(problems[["prompt", "answer", "answer_type"]], preserve_index=False),
        selection="ict-10",
        selection_warmup_steps=2,  # the study's
        passes="packed",
        seed=0,
        training_log=TrainingLog(4, sample_every=1, sample_groups=4),
    )
    sample_lean(trainer.model)  # both sample alike, so that all else is compared
    trainer.train()
    assert log.steps()["selecting"].tolist() == [False, False, True, True]
    pd.testing.assert_frame_equal(trainer.training_log.tokens(), log.tokens())
    assert_equal_weights(trainer.model.state_dict(), weights)
