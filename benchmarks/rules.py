"""What each rule's weights cost: a training step by it beside GRPO's on the same engine, without rollout and optimiser.

    python benchmarks/rules.py             # all rules of configs/studies/rules.yaml but their controls, on one core
    python benchmarks/rules.py --quick     # every rule once, on a model of next to nothing

A step is: token statistics, the rule, loss, backward pass, with all savings on (`training_step.py`), on the mini
model's shape. All rules run in turns in one process on equal weights and rollouts. A figure is the median over the
rounds of its ratio to GRPO's step in the same round, with the least and the largest.
"""

import statistics
import tempfile
from pathlib import Path

import report
import torch
import training_step

from ict_core.config.load import load_study

ROUNDS = 15
BOUND = 1.15  # times GRPO's step


def main() -> None:
    """Measure, and name what is above the bound."""
    options = report.parse(report.parser(__doc__))
    torch.set_num_threads(1)
    training_step.STUDY = load_study(report.REPOSITORY / "configs/studies/rules.yaml")
    rules = [variant for variant, method in training_step.STUDY.methods.items() if method.control is None]
    setting = training_step.SETTINGS["quick" if options.quick else "tiny"]
    rounds = 1 if options.quick else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        training_step.checkpoint(setting, Path(folder))
        trainer = training_step.trainer_of(setting, Path(folder), "packed")
        trainers, variants = dict.fromkeys(rules, trainer), {rule: rule for rule in rules}
        seconds = training_step.in_turns(trainers, variants, setting, rounds)
    rows = []
    for rule in rules:
        ratios = [own / grpo for own, grpo in zip(seconds[rule], seconds["grpo"], strict=True)]
        middle = statistics.median(ratios)
        within = "no" if middle > BOUND else "yes"
        rows.append(
            {"rule": rule, "ratio": f"{middle:.2f} [{min(ratios):.2f}, {max(ratios):.2f}]", f"within {BOUND}": within}
        )
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
