"""A rule of one's own in TRL's trainer: `python examples/own_rule.py MODEL`.

It trains what the model is unsure of and samples often: weight H1 p, divided by its mean over the batch. To have it in
the studies as well, give it a file in ict_core/selection/ and one in configs/methods/ (docs/recipes.md).
"""

import sys

import torch
from datasets import Dataset
from trl import GRPOConfig

from ict_core import SelectiveGRPOTrainer, TokenBatch


def unsure_and_frequent(batch: TokenBatch, generator: torch.Generator) -> torch.Tensor:
    weight = batch.statistics.h1 * batch.statistics.logprob.exp()
    return weight / weight[batch.mask].mean().clamp(min=1e-6)


args = GRPOConfig(
    loss_type="grpo",
    per_device_train_batch_size=8,
    num_generations=4,
    max_completion_length=16,
    max_steps=int(sys.argv[2]) if len(sys.argv) > 2 else 20,
    logging_steps=1,
    save_strategy="no",
    report_to="none",
    use_cpu=not torch.cuda.is_available(),
)
dataset = Dataset.from_dict({"prompt": [f"{a} + {a} = " for a in range(2, 40)]})
trainer = SelectiveGRPOTrainer(
    sys.argv[1],
    lambda completions, **_: [float(text.count("1")) for text in completions],
    args,
    dataset,
    selection=unsure_and_frequent,
)
trainer.train()
print(trainer.training_log.steps()[["step", "reward", "kept_share", "h1", "h1_kept"]])
