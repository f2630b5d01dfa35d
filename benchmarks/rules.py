"""Cost of each rule's weights: its training step relative to GRPO's on the same engine, without rollout and optimiser.

    python benchmarks/rules.py             # all rules of `rules-rates` but their controls, on one core
    python benchmarks/rules.py --quick     # every rule once, on a model of next to nothing

A step consists of token statistics, the rule, the loss and the backward pass, with all savings on (`training_step.py`),
in the shape of the mini model. All rules take turns in one process, on the same weights and rollouts. A figure is the
median over rounds of the ratio to GRPO's step in the same round, with the smallest and the largest ratio.
"""

import statistics
import tempfile
from pathlib import Path

import report
import torch
import training_step

from ict_core.config.load import load_study

ROUNDS = 15
BOUND = 1.15  # highest ratio to GRPO's step


def main() -> None:
    """Measure, and mark the rules above the bound."""
    options = report.parse(report.parser(__doc__))
    torch.set_num_threads(1)
    training_step.STUDY = load_study(report.REPOSITORY / "configs/studies/rules-rates.yaml")
    methods = training_step.STUDY.methods.items()
    rules = [variant for variant, method in methods if method.control is None and not method.known_steps]
    setting = training_step.SETTINGS["quick" if options.quick else "tiny"]
    rounds = 1 if options.quick else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        training_step.checkpoint(setting, Path(folder))
        trainer = training_step.trainer_of(setting, Path(folder), "packed")
        trainers, variants = dict.fromkeys(rules, trainer), {rule: rule for rule in rules}
        seconds = training_step.in_turns(trainers, variants, setting, rounds)
    rows = []
    for rule in rules:
        ratios = [step / grpo for step, grpo in zip(seconds[rule], seconds["grpo"], strict=True)]
        median = statistics.median(ratios)
        within = "no" if median > BOUND else "yes"
        rows.append(
            {"rule": rule, "ratio": f"{median:.2f} [{min(ratios):.2f}, {max(ratios):.2f}]", f"within {BOUND}": within}
        )
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
