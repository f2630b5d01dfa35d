"""The trainer and `select` as someone with a script of their own uses them, and the examples."""

import json
import re
import runpy
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from short_runs import serve
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from ict_core import Choice, Rule, SelectiveGRPOTrainer, UserError, select

REPOSITORY = Path(__file__).parents[2]
PROBLEMS = Dataset.from_dict({"prompt": [f"{a} + {b} = " for a in range(2, 7) for b in range(2, 6)]})


def ones(completions, **_):
    return [float(text.count("1")) for text in completions]


def parity(completions, **_):
    return [None if not text else float(len(text) % 2) for text in completions]


def config(folder, **changes):
    values = {
        "output_dir": str(folder),
        "loss_type": "grpo",
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 12,
        "max_steps": 3,
        "learning_rate": 1e-3,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "disable_tqdm": True,
    }
    return GRPOConfig(**values | changes)


@pytest.fixture
def trainer_of(tiny_checkpoint, tmp_path):
    """A script's trainer with a selection: by some of TRL's arguments, and by others of the trainer's own."""

    def trainer_of(selection, reward=ones, own=None, **changes):
        arguments = config(tmp_path, **changes)
        given = {"selection": selection, **(own or {})}
        return SelectiveGRPOTrainer(str(tiny_checkpoint), reward, arguments, PROBLEMS, **given)

    return trainer_of


def trained(trainer):
    trainer.train()
    return {name: value.detach().clone() for name, value in trainer.model.state_dict().items()}


def with_adapter(checkpoint):
    """A model with an adapter that changes it, as one that was trained before."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    adapters = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    return peft.get_peft_model(AutoModelForCausalLM.from_pretrained(checkpoint), adapters)


@pytest.mark.parametrize(("beta", "model_of"), [(0.0, str), (0.2, str), (0.2, with_adapter)])
def test_every_token_kept_is_trl_itself_to_the_bit_with_two_rewards_and_accumulation(
    tiny_checkpoint, tmp_path, beta, model_of
):
    options = {"reward_weights": [1.0, 0.5], "gradient_accumulation_steps": 2, "per_device_train_batch_size": 4}
    options |= {"beta": beta, "use_bias_correction_kl": False, "learning_rate": 1e-2}
    rewards, tokenizer = [ones, parity], AutoTokenizer.from_pretrained(tiny_checkpoint)

    def trainer_of(kind, **more):
        model = model_of(tiny_checkpoint)
        trainer = kind(model, rewards, config(tmp_path, **options), PROBLEMS, processing_class=tokenizer, **more)
        serve(trainer, vocabulary=300)
        served = trainer._generate_single_turn

        def seeded(*given, **more):
            torch.manual_seed(trainer.state.global_step)  # TRL draws the order of the micro-batches' rows next
            return served(*given, **more)

        trainer._generate_single_turn = seeded
        return trainer

    ours, plain = trainer_of(SelectiveGRPOTrainer, selection="grpo"), trainer_of(GRPOTrainer)
    weights = [trained(trainer) for trainer in (ours, plain)]
    assert all(torch.equal(weights[0][name], value) for name, value in weights[1].items())
    log = ours.training_log.steps()
    theirs = [entry["reward"] for entry in ours.state.log_history if "reward" in entry]
    assert len(log) == 3 and theirs and log["reward"].notna().all()
    assert ours.beta == beta and (log["kl"].iloc[-1] > 0) == (beta > 0)


def test_a_callback_sets_beta_or_is_told_that_there_is_no_reference_model(trainer_of):
    class Anneal(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            trainer.beta = 0.5

    own, changes = {"callbacks": [Anneal()]}, {"use_bias_correction_kl": False, "learning_rate": 1e-2}
    trainer = trainer_of("grpo", parity, own, beta=0.1, **changes)
    trainer.train()
    annealed = trainer.training_log.steps()["loss"]
    constant = trainer_of("grpo", parity, beta=0.1, **changes)
    constant.train()
    assert trainer.beta == 0.5 and annealed[0] == constant.training_log.steps()["loss"][0]
    assert annealed[1] != constant.training_log.steps()["loss"][1]
    trainer = trainer_of("grpo", parity, own, beta=0.0, **changes)
    with pytest.raises(UserError, match="trainer.beta: 0.5 .* no reference model"):
        trainer.train()


def test_a_log_every_second_step_has_every_step_in_the_own_log(trainer_of):
    own = {"selection_warmup_steps": 0}
    trainer = trainer_of("ict-10", own=own, logging_steps=2, max_steps=4)
    trainer.train()
    log = trainer.training_log.steps()
    assert log["step"].tolist() == [0, 1, 2, 3] and log[["loss", "h1", "kept_share"]].notna().all(axis=None)
    assert log["grad_norm"].notna().tolist() == [False, True, False, True]
    shown = [entry for entry in trainer.state.log_history if "selection/effective_share" in entry]
    assert [entry["step"] for entry in shown] == [2, 4]
    means = log["kept_share"].to_numpy().reshape(2, 2).mean(axis=1)
    assert [entry["selection/effective_share"] for entry in shown] == pytest.approx(means)
    assert all(abs(entry["loss"]) < 10 for entry in shown)


def test_an_evaluation_is_trls_own_and_its_time_counts_for_no_step(trainer_of):
    class AnHour(TrainerCallback):
        def on_evaluate(self, *_, **__):
            trainer.training_log._mark -= 3600

        on_train_begin = on_evaluate

    own, evaluated = {"eval_dataset": PROBLEMS.select(range(2))}, {"eval_strategy": "steps", "eval_steps": 1}
    own |= {"callbacks": [AnHour()]}
    trainer = trainer_of("grpo", own=own, max_steps=2, per_device_eval_batch_size=4, **evaluated)
    trainer.train()
    assert any("eval_reward" in entry for entry in trainer.state.log_history)
    times = trainer.training_log.timing()["total_s"]
    assert len(times) == 2 and times.max() < 3600


@pytest.mark.parametrize(
    ("selection", "changes", "message"),
    [
        ("grpo", {"epsilon": 0.0}, "GRPOConfig: epsilon: 0.0"),
        ("grpo", {"epsilon_high": float("inf")}, "GRPOConfig: epsilon_high: inf"),
        ("entropy-20", {"loss_type": GRPOConfig.__dataclass_fields__["loss_type"].default}, "set loss_type='grpo'"),
        ("entropy-20", {"importance_sampling_level": "sequence"}, "set importance_sampling_level='token'"),
        ("entropy-20", {"steps_per_generation": 2}, "set steps_per_generation=1"),
        ("entropy-20", {"beta": 0.1, "use_bias_correction_kl": True}, "set use_bias_correction_kl=False"),
        ("entropy-20", {"entropy_coef": 0.1}, "entropy_coef=0.1, .* allowed: with selection='grpo'"),
        ("entropy-20", {"use_adaptive_entropy": True}, "use_adaptive_entropy=True; allowed: with selection='grpo'"),
        ("ict-10", {}, "'ict-10' has a warm-up .* give selection_warmup_steps"),
        ("lopti", {}, "set num_iterations=2"),
        ("cispo", {}, "set num_iterations=2"),
        ("oracle-decisions", {}, "without data.train_sets"),
    ],
)
def test_what_a_selection_is_not_defined_for_is_refused_with_what_to_set(trainer_of, selection, changes, message):
    with pytest.raises(UserError, match=message):
        trainer_of(selection, **changes)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("ict-10", "'ict-10' has a warm-up"),
        ("ict-10-w20", "step is missing, as the first 20"),
        ("lopti", "more than one weight"),
        ("cispo", "more than one weight"),
        ("oracle-decisions-permuted", "without data.train_sets"),
        (replace(Choice.of("oracle-decisions"), decisions=lambda prompt, ids: []), "without data.train_sets"),
        ("nsr-published", "an advantage of its own"),
    ],
)
def test_what_select_cannot_give_is_refused(tiny_checkpoint, selection, message):
    with pytest.raises(UserError, match=message):
        select(model_of(tiny_checkpoint), rollouts(), selection, group_size=2)


def test_a_function_in_a_choice_is_refused_with_where_it_goes():
    with pytest.raises(UserError, match="Choice.of"):
        Choice(rule=lambda batch, _: batch.mask.float(), normaliser="kept")


def test_a_selection_is_a_name_a_file_a_rule_or_a_function(tmp_path):
    named = Choice.of("ict-10", 7)
    assert (named.normaliser, named.scores, named.warmup_steps) == ("kept", ("js",), 7)
    assert [Choice.of(name, 7).warmup_steps for name in ("ict-10-w20", "grpo")] == [20, 0]  # which state their own
    file = tmp_path / "mine.yaml"
    file.write_text("selector: top-score\nscore: kl\npercent: 30\nnormaliser: response\nwarmup_steps: 4\n")
    read = Choice.of(file)
    assert (read.rule.selector, read.normaliser, read.warmup_steps) == ("top-score", "response", 4)
    rule = Choice.of(Rule("mine", "stapo", {}))
    assert (rule.normaliser, rule.scores) == ("response", ())
    assert Choice.of(rule) is rule
    assert Choice.of(lambda batch, generator: batch.mask).normaliser == "response"


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("ict-11", r"configs/methods/ict-11.yaml: no such file; allowed: .*ict-10"),
        (7, "selection: 7 is not allowed; allowed: a name"),
        ("ict-10-g4", "group_size: 4 is no part of a selection; state it by GRPOConfig's num_generations"),
        ("ict-10-random-reward", "state it by a reward function"),
        ("ict-10-8x48", "batch: .*GRPOConfig's batch size"),
        ("grpo-replica", "replica: .*another seed"),
    ],
)
def test_an_unknown_selection_names_what_is_allowed(selection, message):
    with pytest.raises(UserError, match=message):
        Choice.of(selection)


def test_a_warm_up_of_all_steps_is_refused(trainer_of):
    with pytest.raises(UserError, match="selection_warmup_steps: 3 .* less than the 3"):
        trainer_of("ict-10", own={"selection_warmup_steps": 3}).train()


@pytest.mark.parametrize(("found", "message"), [(torch.nan, "nan"), (-0.5, "-0.5"), (torch.inf, "inf")])
def test_weights_that_are_none_name_the_function_and_none_is_read_outside_the_responses(
    tiny_checkpoint, found, message
):
    def inverse(batch, generator):
        weights = 1 / batch.statistics.h1  # infinite where no response is
        return weights.masked_fill(batch.statistics.h1 == batch.statistics.h1[0, 0], wrong)

    wrong = 0.5
    weights = select(model_of(tiny_checkpoint), rollouts(), inverse, group_size=2).weights
    assert weights.isfinite().all() and (weights > 0).equal(rollouts()["completion_mask"].bool())
    wrong = found
    with pytest.raises(ValueError, match=f"inverse: a weight of {message}; allowed: finite and at least 0"):
        select(model_of(tiny_checkpoint), rollouts(), inverse, group_size=2)
    with pytest.raises(ValueError, match="<lambda>: weights of shape"):
        select(model_of(tiny_checkpoint), rollouts(), lambda batch, _: batch.mask.T, group_size=2)
    with pytest.raises(ValueError, match="NoneType in place"):
        select(model_of(tiny_checkpoint), rollouts(), lambda batch, _: None, group_size=2)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"advantages": torch.zeros(4, 1)}, {}, "advantages of shape (4, 1)"),
        ({"completion_mask": torch.ones(4, 1)}, {}, "completion_mask of shape (4, 1)"),
        ({name: torch.zeros(4, 0) for name in ("prompt_ids", "prompt_mask")}, {}, "prompts of 0"),
        ({}, {"group_size": 3}, "whole groups of 3"),
        ({}, {"group_size": 0}, "whole groups of 0"),
        ({}, {"temperature": 0.0}, "temperature 0.0"),
        ({}, {"temperature": torch.nan}, "temperature nan"),
    ],
)
def test_rollouts_that_do_not_fit_one_another_are_named(tiny_checkpoint, changes, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        select(model_of(tiny_checkpoint), rollouts() | changes, "stapo", **{"group_size": 2} | options)


def test_a_model_without_numbers_selects_nothing(tiny_checkpoint):
    model = model_of(tiny_checkpoint)
    next(model.parameters()).data.fill_(torch.nan)
    with pytest.raises(ValueError, match="NaN"):
        select(model, rollouts(), "entropy-20", group_size=2)
    for steps in (-1, 1.5):
        with pytest.raises(UserError, match="whole number"):
            Choice.of("ict-10", steps)
    with pytest.raises(UserError, match="a Choice states its own"):
        Choice.of(Choice.of("ict-10", 3), 10)


def uncertain(batch, generator):
    return batch.statistics.h1 >= batch.statistics.h1[batch.mask].quantile(0.8)


@pytest.mark.parametrize(
    ("selection", "passes"),
    [("grpo", "packed"), ("entropy-20", "dense"), ("steer", "dense"), ("ict-10", "packed"), (uncertain, "dense")],
)
def test_a_batch_without_a_whole_answer_trains_nothing(trainer_of, passes, selection):
    own, truncated = {"selection_warmup_steps": 0, "passes": passes}, {"mask_truncated_completions": True}
    trainer = trainer_of(selection, own=own, max_completion_length=2, max_steps=2, **truncated)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    after = trained(trainer)
    assert all(torch.equal(before[name], value) for name, value in after.items())
    assert trainer.training_log.steps()["loss"].tolist() == [0.0, 0.0]


def test_tokens_that_a_tool_wrote_are_refused(trainer_of):
    def answers(prompts, trainer):
        answer = {"completion_ids": [5, 6, 7, 8], "logprobs": [-1.0] * 4, "env_mask": [1, 1, 0, 0]}
        texts = [prompt if isinstance(prompt, str) else prompt[-1]["content"] for prompt in prompts]
        ids = trainer.processing_class(texts)["input_ids"]
        return {"prompt_ids": ids} | {name: [value] * len(prompts) for name, value in answer.items()}

    with pytest.raises(UserError, match="masks of a rollout_func"):
        trainer_of("grpo", own={"rollout_func": answers}).train()


@pytest.mark.parametrize("selection", ["lopti", "cispo"])
def test_a_rule_of_two_updates_trains_with_two(trainer_of, selection):
    trainer_of(selection, num_iterations=2, max_steps=2).train()


def test_a_checkpoint_amid_the_updates_of_a_batch_is_not_resumed(trainer_of, tmp_path):
    saving = {"save_strategy": "steps", "save_steps": 1, "num_iterations": 2, "max_steps": 4}
    trainer_of("entropy-20", **saving).train()
    with pytest.raises(UserError, match=r"step 1, .* 2 updates .* multiple of num_iterations \(2\)"):
        trainer_of("entropy-20", **saving).train(resume_from_checkpoint=str(tmp_path / "checkpoint-1"))
    trainer_of("entropy-20", **saving).train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))


def test_rewards_as_advantages_need_rewards_of_0_to_1(trainer_of):
    trainer_of("nsr-published", parity).train()
    with pytest.raises(UserError, match="allowed: from 0 to 1"):
        trainer_of("nsr-published", lambda completions, **_: [2.0] * len(completions)).train()


def model_of(checkpoint):
    return AutoModelForCausalLM.from_pretrained(checkpoint).double()


def rollouts():
    ids = torch.arange(5, 45).view(4, 10)
    return {
        "prompt_ids": ids[:, :3],
        "prompt_mask": torch.tensor([[0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]]),
        "completion_ids": ids[:, 3:],
        "completion_mask": torch.tensor([[1] * 7, [1] * 5 + [0] * 2, [1] * 7, [1] * 2 + [0] * 5]),
        "advantages": torch.tensor([1.0, -1.0, 0.5, -0.5]),
    }


def of_absolute_positions(_):
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=1, n_head=2, initializer_range=0.2))
    return model.double().eval()


@pytest.mark.parametrize("made_of", [model_of, of_absolute_positions])
def test_select_gives_the_tokens_of_the_highest_entropy(tiny_checkpoint, made_of):
    """An oracle: one row at a time, without padding, by log_softmax in float64."""
    model, batch = made_of(tiny_checkpoint), rollouts()
    chosen = select(model, batch, "entropy-20-by-group", group_size=2)
    for row in range(4):
        prompt = batch["prompt_ids"][row][batch["prompt_mask"][row].bool()]
        answer = batch["completion_ids"][row][: batch["completion_mask"][row].sum()]
        logits = model(torch.cat([prompt, answer])[None]).logits[0, len(prompt) - 1 : -1]
        logprobs = logits.log_softmax(-1)
        own = chosen.statistics.h1[row, : len(answer)]
        assert own.tolist() == pytest.approx((-(logprobs.exp() * logprobs).sum(-1)).tolist(), abs=1e-5)
        sampled = logprobs.gather(-1, answer[:, None]).squeeze(-1)
        assert chosen.statistics.logprob[row, : len(answer)].tolist() == pytest.approx(sampled.tolist(), abs=1e-5)
    mask, h1 = batch["completion_mask"].bool(), chosen.statistics.h1
    for rows in (slice(0, 2), slice(2, 4)):
        kept = int(chosen.weights[rows].sum())
        assert kept == -(-int(mask[rows].sum()) // 5)
        assert h1[rows][chosen.weights[rows] > 0].min() >= h1[rows][mask[rows] & (chosen.weights[rows] == 0)].max()
    assert chosen.denominator.tolist() == [7, 5, 7, 2]


def test_select_warms_up_and_divides_as_the_method_does(tiny_checkpoint):
    model, batch = model_of(tiny_checkpoint), rollouts()
    choice = Choice.of("ict-10", warmup_steps=2)
    early = select(model, batch, choice, group_size=2, step=1)
    assert torch.equal(early.weights, batch["completion_mask"].float()) and early.denominator.tolist() == [7, 5, 7, 2]
    late = select(model, batch, choice, group_size=2, step=2)
    assert late.weights.sum(1).tolist() == late.denominator.tolist() == [1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("example", ["own_loop", "own_rule", "trl_script"])
def test_the_examples_run_on_a_mini_base(example, tiny_checkpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = str(REPOSITORY / "examples" / f"{example}.py")
    checkpoint = shutil.copytree(tiny_checkpoint, tmp_path / "model")
    ends = list(range(20))  # of so many one comes soon; the padding is among them
    assert AutoTokenizer.from_pretrained(checkpoint).eos_token_id in ends
    (checkpoint / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    monkeypatch.setattr(sys, "argv", [script, str(checkpoint), "3"])
    made = runpy.run_path(script, run_name="__main__")
    if example == "own_loop":
        for row, mask in zip(made["completions"].tolist(), made["batch"]["completion_mask"].tolist(), strict=True):
            length = next((at + 1 for at, token in enumerate(row) if token in ends), len(row))
            assert mask == [1] * length + [0] * (len(row) - length)
    assert "2" in capsys.readouterr().out.splitlines()[-1]
