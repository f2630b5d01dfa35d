"""How many rollout tokens a second a training step of the mini study gets, by who makes them.

    python benchmarks/rollouts.py
    python benchmarks/rollouts.py --checkpoint results/mini/mini-m/base/seed-0/model
    python benchmarks/rollouts.py --quick       # one round, and a checkpoint of two steps

Each arm makes the 64 rollouts of a step (8 prompts, 8 each, at most 80 tokens), of the same prompts and weights, which
change before every round, and pays what a step pays: for vLLM the transfer of the weights too. The arms take turns
in one process on one core; a figure is the median over the rounds, a ratio that of the rates in the same round. Without
a checkpoint of the mini study, one is pretrained in 600 steps, a minute.

* TRL's default is `GRPOTrainer._generate_single_turn`, which calls transformers' `generate`. The same method with the
  loop of `ict_core/training/_sampling.py`, and with transformers' continuous batching.
* vLLM in this process, with the settings of `ict_core/training/_rollouts.py` and a seed a request. Its CPU backend
  keeps the old head of a model with tied embeddings, so it is given a copy whose head is stored on its own, and both at
  every transfer. The probe is the largest mean difference to the trainer's log-probs of a round's prompt, nats a token.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import report

from ict_core.config import Training, load_study
from ict_core.problems.mini import training_problems
from ict_core.process import loading, vllm_environment
from ict_core.seeding import derive_seed

vllm_environment.set_environment()

with loading():
    import torch
    import vllm
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
    from trl import GRPOTrainer

    from ict_core.training import engine_for_rollouts, grpo_config, reuse_freed_memory, sample_lean

REPOSITORY = Path(__file__).resolve().parents[1]
PROBE = 4  # prompts
SIZE_OF_CACHE = {"num_blocks": 256, "block_size": 32, "max_batch_tokens": 1024}  # its own choice takes the whole memory

Rollouts = list[list[int]]


def trl_trainer(base: Path, training: Training, problems: pd.DataFrame, folder: Path, **more: Any) -> GRPOTrainer:
    args = grpo_config(training, 0, folder)
    for name, value in more.items():
        setattr(args, name, value)
    return GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(base, dtype="float32"),
        processing_class=AutoTokenizer.from_pretrained(base),
        reward_funcs=[lambda completions, **_: [0.0] * len(completions)],
        args=args,
        train_dataset=Dataset.from_pandas(problems[["prompt"]], preserve_index=False),
    )


def by_trl(trainer: GRPOTrainer) -> Callable[[Rollouts, int], Rollouts]:
    """Rollouts as a step of this trainer makes them."""

    def run(prompts: Rollouts, seed: int) -> Rollouts:
        torch.manual_seed(seed)
        return trainer._generate_single_turn(prompts, None, {}, trainer.num_generations)[0]

    return run


class Vllm:
    """vLLM in this process, with a head of its own."""

    def __init__(self, model: PreTrainedModel, base: Path, training: Training, folder: Path) -> None:
        self._model = model
        self._stop = model.generation_config.eos_token_id
        self._temperature, self._most = training.temperature, training.max_new_tokens
        untied = type(model)(type(model.config)(**model.config.to_dict() | {"tie_word_embeddings": False}))
        untied.load_state_dict(dict(self._weights()))
        untied.save_pretrained(folder)
        AutoTokenizer.from_pretrained(base).save_pretrained(folder)
        length = int(model.config.max_position_embeddings)
        self._llm = engine_for_rollouts(length, "float32")(model=str(folder), max_model_len=length, seed=0)
        self.apart = 0.0

    def _weights(self) -> list[tuple[str, torch.Tensor]]:
        head = self._model.get_output_embeddings().weight
        return [*((name, weight.detach()) for name, weight in self._model.named_parameters()), ("lm_head.weight", head)]

    def run(self, prompts: Rollouts, seed: int) -> Rollouts:
        """New weights, the probe, then a request a rollout."""
        self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": self._weights()})
        self._llm.reset_prefix_cache()
        scoring = vllm.SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False)
        scored = self._ask(prompts[:: len(prompts) // PROBE], [scoring] * PROBE)
        self._probe = [[next(iter(at.values())).logprob for at in of.prompt_logprobs[1:]] for of in scored]
        sampling = [
            vllm.SamplingParams(
                seed=derive_seed(seed, "request", number),
                temperature=self._temperature,
                max_tokens=self._most,
                stop_token_ids=list(self._stop),
                detokenize=False,
            )
            for number in range(len(prompts))
        ]
        return [list(of.outputs[0].token_ids) for of in self._ask(prompts, sampling)]

    def _ask(self, prompts: Rollouts, parameters: list[vllm.SamplingParams]) -> list[Any]:
        return self._llm.generate([{"prompt_token_ids": ids} for ids in prompts], parameters, use_tqdm=False)

    @torch.no_grad()
    def compare(self, prompts: Rollouts) -> None:
        """Keep the largest mean difference of the probe to the model's own log-probs."""
        for ids, theirs in zip(prompts[:: len(prompts) // PROBE], self._probe, strict=True):
            logps = self._model(input_ids=torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
            ours = logps.gather(-1, torch.tensor(ids[1:])[:, None]).squeeze(-1)
            self.apart = max(self.apart, (ours - torch.tensor(theirs)).abs().mean().item())


@torch.no_grad()
def move(model: PreTrainedModel, start: dict[str, torch.Tensor], seed: int) -> None:
    """The weights of another step: those of the start, each moved by about one percent."""
    torch.manual_seed(seed)
    for name, weight in model.named_parameters():
        weight.copy_(start[name] * (1 + 0.01 * torch.randn_like(weight)))


def main() -> None:
    """Compare the arms on one checkpoint."""
    parser = report.parser(__doc__)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=600, help="of pretraining, where there is no checkpoint")
    options = report.parse(parser, rounds=1, steps=2)
    reuse_freed_memory()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = compare(options.checkpoint or report.mini_model(folder, options.steps), options.rounds, folder)
    report.append(rows, quick=options.quick)


def compare(base: Path, rounds: int, folder: Path) -> list[dict[str, str]]:
    """One row an arm."""
    training = load_study(REPOSITORY / "configs/studies/mini.yaml").training
    problems = training_problems(0, training.prompts_per_step * (rounds + 1), set())
    batching = {"use_transformers_continuous_batching": True, "transformers_continuous_batching_config": SIZE_OF_CACHE}
    trainers = {
        "TRL's default": trl_trainer(base, training, problems, folder),
        "lean loop": trl_trainer(base, training, problems, folder),
        "continuous batching": trl_trainer(base, training, problems, folder, **batching),
    }
    sample_lean(trainers["lean loop"].model)
    arms = {name: by_trl(trainer) for name, trainer in trainers.items()}
    engine = Vllm(AutoModelForCausalLM.from_pretrained(base, dtype="float32"), base, training, folder / "untied")
    arms["vLLM, untied copy"] = engine.run
    models = [engine._model, *(trainer.model for trainer in trainers.values())]
    start = {name: weight.clone() for name, weight in engine._model.named_parameters()}
    tokenizer = trainers["lean loop"].processing_class
    rates: dict[str, list[float]] = {arm: [] for arm in arms}
    lengths: dict[str, list[int]] = {arm: [] for arm in arms}
    for number in range(rounds + 1):
        texts = problems["prompt"].iloc[number * training.prompts_per_step :][: training.prompts_per_step]
        prompts = [ids for ids in tokenizer(texts.tolist())["input_ids"] for _ in range(training.group_size)]
        for model in models:
            move(model, start, number)
        for arm, run in arms.items():
            started = time.perf_counter()
            rollouts = run(prompts, derive_seed(number, "rollout"))
            seconds = time.perf_counter() - started
            if number:  # the first warms up
                lengths[arm] += map(len, rollouts)
                rates[arm].append(sum(map(len, rollouts)) / seconds)
        engine.compare(prompts)
    usual = rates["TRL's default"]
    return [
        {
            "rollouts by": arm,
            "tokens a second": f"{statistics.median(of_arm):,.0f}",
            "ratio to TRL's default": f"{statistics.median(a / b for a, b in zip(of_arm, usual, strict=True)):.2f}",
            "mean length": f"{statistics.mean(lengths[arm]):.1f}",
            "probe, nats": f"{engine.apart:.1e}" if "vLLM" in arm else "the trainer's own weights",
        }
        for arm, of_arm in rates.items()
    ]


if __name__ == "__main__":
    main()
