"""GRPO with TRL, trained on the tokens that ICT keeps: `python examples/trl_script.py MODEL` (a hub id or a folder)."""

import sys

import torch
from datasets import Dataset
from trl import GRPOConfig

from ict_core import SelectiveGRPOTrainer

WARMUP = 1  # steps that train every token first; of hundreds of steps, as in the paper of ICT: 10

problems = [(a, b) for a in range(2, 12) for b in range(2, 12)]
dataset = Dataset.from_dict(
    {"prompt": [f"{a} + {b} = " for a, b in problems], "answer": [str(a + b) for a, b in problems]}
)


def right(completions: list[str], answer: list[str], **_: object) -> list[float]:
    return [float(own in text) for text, own in zip(completions, answer, strict=True)]


def short(completions: list[str], **_: object) -> list[float]:
    return [-len(text) / 100 for text in completions]


args = GRPOConfig(
    loss_type="grpo",  # the loss that a selection of tokens is defined for
    reward_weights=[1.0, 0.1],
    per_device_train_batch_size=8,
    num_generations=4,
    max_completion_length=16,
    max_steps=int(sys.argv[2]) if len(sys.argv) > 2 else 20,
    logging_steps=2,
    save_strategy="no",
    report_to="none",
    use_cpu=not torch.cuda.is_available(),
)
trainer = SelectiveGRPOTrainer(
    sys.argv[1],
    [right, short],
    args,
    dataset,
    selection="ict-10",
    selection_warmup_steps=WARMUP,
)
trainer.train()
print(trainer.training_log.steps()[["step", "reward", "kept_share", "h1", "h1_kept", "loss"]])
