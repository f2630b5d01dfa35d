"""A step of the mini base models' pretraining beside the same step with transformers' own loss.

    python benchmarks/pretraining.py            # 300 steps of each model, under a minute each
    python benchmarks/pretraining.py --quick    # 4 steps

Two models with the same first weights take turns, step by step, on the same batches; they differ in what computes the
loss and its gradients (`ict_core/training/pretrain.py` or `model(input_ids, labels=labels).loss`) alone. A ratio
is the median over the steps; `step` includes clipping and optimisers, `loss` and `backward` do not.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import report
import torch
from torch import Tensor

from ict_core.config import ScratchModel, load_study
from ict_core.process import loading

with loading(without=("scipy",)):  # as `ict pretrain` does
    from ict_core.problems.mini import train_tokenizer
    from ict_core.training import pretrain, reuse_freed_memory

STUDY = Path(__file__).resolve().parents[1] / "configs/studies/mini.yaml"
OWN, OURS = "transformers' loss", "at the solutions"


def compare(name: str, model: ScratchModel, steps: int) -> dict[str, str]:
    """One row: ratios of the times, and the mean loss of the last quarter of the steps of both."""
    rule = model.pretraining.model_copy(update={"steps": steps})
    tokenizer = train_tokenizer(model.architecture.vocab_size)
    models = {arm: pretrain.build_model(model.architecture, tokenizer, rule.seed) for arm in (OWN, OURS)}
    arms: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        OWN: lambda ids, labels: models[OWN](input_ids=ids, labels=labels).loss,
        OURS: pretrain.SolutionLoss(models[OURS], model.architecture.max_positions),
    }
    optimizers = {arm: pretrain._optimizers(one, rule) for arm, one in models.items()}
    passes: dict[str, list[float]] = {arm: [] for arm in arms}
    whole: dict[str, list[float]] = {arm: [] for arm in arms}
    losses: dict[str, list[float]] = {arm: [] for arm in arms}
    for ids, labels in pretrain._batches(tokenizer, rule, set()):
        for arm, loss_of in arms.items():
            started = time.perf_counter()
            loss = loss_of(ids, labels)
            loss.backward()
            passes[arm].append(time.perf_counter() - started)
            torch.nn.utils.clip_grad_norm_(models[arm].parameters(), 1.0)
            for optimizer in optimizers[arm]:
                optimizer.step()
                optimizer.zero_grad()
            losses[arm].append(loss.item())
            whole[arm].append(time.perf_counter() - started)
    last = {arm: statistics.mean(of_arm[-steps // 4 :]) for arm, of_arm in losses.items()}
    return {
        "model": name,
        "loss and backward, ratio": f"{_ratio(passes):.2f}",
        "step, ratio": f"{_ratio(whole):.2f}",
        "ms a step": f"{1000 * statistics.median(whole[OURS]):.1f}",
        f"last loss, {OWN}": f"{last[OWN]:.4f}",
        f"last loss, {OURS}": f"{last[OURS]:.4f}",
    }


def _ratio(seconds: dict[str, list[float]]) -> float:
    return statistics.median(ours / own for ours, own in zip(seconds[OURS], seconds[OWN], strict=True))


def main() -> None:
    """Compare for each model of the mini study that is pretrained here."""
    parser = report.parser(__doc__)
    parser.add_argument("--steps", type=int, default=300)
    options = report.parse(parser, steps=4)
    reuse_freed_memory()
    torch.set_num_threads(1)
    models = {name: m for name, m in load_study(STUDY).models.items() if isinstance(m, ScratchModel)}
    rows = [compare(name, model, options.steps) for name, model in models.items()]
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
