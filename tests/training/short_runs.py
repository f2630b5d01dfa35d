"""Short trainings as a program of their own: for several ranks (under torchrun), and for vLLM, which fills a process.

``python short_runs.py SPECS OUT``: SPECS is a JSON file, name -> what to train; of each the first rank leaves
``steps.parquet``, ``tokens.parquet``, ``weights.pt`` and ``facts.json`` in OUT/name, with ``recorded`` the log's files.
"""

import json
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from ict_core.config.inputs import Template
from ict_core.config.methods import Training
from ict_core.config.study_file import LearningCurve
from ict_core.errors import UserError
from ict_core.problems.mini.problems import training_problems
from ict_core.process.startup import loading
from ict_core.seeding import derive_seed
from ict_core.training.learning_curve import HeldOut
from ict_core.training.resume import Checkpoints, train_from
from ict_core.training.run import TrainingRun, build_trainer, rollout_engine

MODEL = SimpleNamespace(dtype="float32", hardware=None, prompt=Template(template="{prompt}", source="made up"))


RESOLVED = {  # of a cell, what its model card tells
    "model": {"name": "tiny", "kind": "local", "path": "/home/someone/secret"},
    "method": {"name": "grpo", "selector": "grpo", "normaliser": "response", "group_size": None},
    "training": {"steps": 1, "learning_rate": 0.001, "lora": None},
    "data": {"seed": 0},
    "seed": 7,
}


@dataclass(frozen=True)
class Rule:
    """A stand-in for a method's configuration."""

    selector: str
    normaliser: str = "kept"
    warmup: int = 0
    keywords: tuple = ()
    random_reward: float | None = None
    control: str | None = None
    surrogate: Any = None
    advantage: str | None = None
    entropy_bonus: Any = None

    def parameters(self) -> dict[str, Any]:
        return dict(self.keywords)


class LengthPool:
    """Grades by the parity of the text's length: a random model never solves a problem.

    Args:
        killed_at: the step of whose rewards it dies.
    """

    def __init__(self, killed_at: int | None = None) -> None:
        self._left = killed_at

    def grade(self, items: list[Any]) -> list[Any]:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt
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


def leave_vllm_out() -> None:
    """Import TRL's trainer as where vLLM is not installed: it imports all of an installed one."""
    with loading(without=("vllm",)):
        import trl.trainer.grpo_trainer  # noqa: F401
    if sys.modules["vllm"] is None:
        del sys.modules["vllm"]  # other tests of the process may import it


def main() -> None:
    torch.set_num_threads(1)
    specs = json.loads(Path(sys.argv[1]).read_text())
    if not any(spec["training"].get("rollouts") for spec in specs.values()):
        leave_vllm_out()
    # several ranks of transformers load an optimiser to their device, on the CPU "cpu:0", which torch does not know
    torch.serialization.register_package(0, lambda _: None, lambda storage, at: storage if at == "cpu:0" else None)
    for name, spec in specs.items():
        run(spec, Path(sys.argv[2]) / name)


def run(spec: dict[str, Any], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    keywords = spec["keywords"]
    if "fraction" in keywords:
        keywords = keywords | {"fraction": Fraction(keywords["fraction"])}
    method = Rule(spec["selector"], spec["normaliser"], keywords=tuple(keywords.items()))
    attempts = [spec["killed_at"], None] if "killed_at" in spec else [None]
    stopped = ""
    for killed_at in attempts:
        training = Training.model_validate_json(json.dumps(spec["training"]))
        training_run = TrainingRun(
            Path(spec["checkpoint"]), training_problems(0, 40, set()), MODEL, training, method, spec["seed"]
        )
        if spec.get("recorded"):  # five problems, so that the second of two ranks answers the first one again
            curve = LearningCurve(every=1, problems=5, samples=2)
            held_out = HeldOut.of(curve, training_problems(1, 9, set()), 0)
            training_run = replace(training_run, held_out=held_out, keep_rollouts=True)
        trainer, log = build_trainer(training_run, LengthPool(killed_at), out / "scratch")
        if spec["served"]:
            serve(trainer, vocabulary=300)
        checkpoints = Checkpoints(out / "scratch", {}, 0.0)
        try:
            train_from(trainer, checkpoints if trainer.accelerator.is_main_process else None)
        except UserError as error:
            stopped = str(error)
        except KeyboardInterrupt:
            continue
    if trainer.accelerator.is_main_process:
        if spec.get("recorded"):
            log.write(out)
        log.steps().to_parquet(out / "steps.parquet")
        log.tokens().to_parquet(out / "tokens.parquet")
        torch.save(trainer.model.state_dict(), out / "weights.pt")
        facts = {"ranks": trainer.accelerator.num_processes, "stopped": stopped, "resumed_at": checkpoints.resumed_at}
        facts["engine"] = rollout_engine(trainer)
        (out / "facts.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
