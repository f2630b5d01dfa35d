"""Short trainings as a program of their own: for several ranks (under torchrun), and for vLLM, which fills a process.

``python short_runs.py SPECS OUT``: SPECS is a JSON file, name -> what to train; of each the first rank leaves
``steps.parquet``, ``tokens.parquet``, ``weights.pt`` and ``facts.json`` in OUT/name.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from ict_core.benchmarks.mini.corpus import training_problems
from ict_core.config import Training
from ict_core.errors import UserError
from ict_core.seeding import derive_seed
from ict_core.training.run import build_trainer


class LengthPool:
    """Grades by the parity of the text's length: a random model never solves a problem."""

    def grade(self, items: list[Any]) -> list[Any]:
        return [SimpleNamespace(status="correct" if len(text) % 2 else "wrong") for text, _, _ in items]


def serve(trainer: Any, vocabulary: int) -> None:
    """Rollouts that depend on the step and on their number in the whole batch, and on no rank."""

    def rollouts(prompts: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        first = trainer.accelerator.process_index * len(prompts)
        return [rollout(trainer.state.global_step, first + i) for i in range(len(prompts))], None

    def rollout(step: int, number: int) -> list[int]:
        generator = torch.Generator().manual_seed(derive_seed(0, "test rollouts", step, number))
        length = int(torch.randint(3, 12, (1,), generator=generator))
        shared = [7] * (number % 4 < 2)  # half of a group begins alike
        return shared + torch.randint(5, vocabulary, (length,), generator=generator).tolist()

    trainer._generate_single_turn = rollouts


def main() -> None:
    torch.set_num_threads(1)
    for name, spec in json.loads(Path(sys.argv[1]).read_text()).items():
        run(spec, Path(sys.argv[2]) / name)


def run(spec: dict[str, Any], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    keywords = spec["keywords"]
    if "fraction" in keywords:
        keywords = keywords | {"fraction": Fraction(keywords["fraction"])}
    method = SimpleNamespace(
        selector=spec["selector"],
        normaliser=spec["normaliser"],
        warmup_steps=0,
        random_reward=None,
        parameters=lambda: keywords,
    )
    trainer, log = build_trainer(
        Path(spec["checkpoint"]),
        training_problems(0, 40, set()),
        Training.model_validate_json(json.dumps(spec["training"])),
        method,
        spec["seed"],
        LengthPool(),
        out / "scratch",
    )
    if spec["served"]:
        serve(trainer, vocabulary=300)
    log.start()
    stopped = ""
    try:
        trainer.train()
    except UserError as error:
        stopped = str(error)
    if trainer.accelerator.is_main_process:
        log.steps().to_parquet(out / "steps.parquet")
        log.tokens().to_parquet(out / "tokens.parquet")
        torch.save(trainer.model.state_dict(), out / "weights.pt")
        (out / "facts.json").write_text(json.dumps({"ranks": trainer.accelerator.num_processes, "stopped": stopped}))


if __name__ == "__main__":
    main()
