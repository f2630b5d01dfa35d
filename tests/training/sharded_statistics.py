"""Token statistics of a model before and after FSDP2 shards it over the ranks: ``torchrun ... CHECKPOINT RECIPE OUT``.

accelerate shards on GPUs only, so the model is sharded here as accelerate does it: each layer, then the whole.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from ict_core.benchmarks.mini.corpus import training_problems
from ict_core.config import Training
from ict_core.tokens.streaming import SCORES
from ict_core.training.run import build_trainer

LENGTHS = torch.tensor([9, 4, 1, 7, 12, 12, 3, 5, 6, 10, 2, 8])


def main() -> None:
    checkpoint, recipe, out = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    method = SimpleNamespace(
        selector="grpo", normaliser="response", warmup_steps=0, random_reward=None, parameters=dict
    )
    training = Training.model_validate_json(recipe.read_text())
    trainer, _ = build_trainer(checkpoint, training_problems(0, 40, set()), training, method, 0, None, out / "scratch")
    generator = torch.Generator().manual_seed(0)
    mask = torch.arange(12) < LENGTHS.unsqueeze(1)
    batch = {
        "prompt_ids": torch.randint(5, 300, (12, 6), generator=generator),
        "prompt_mask": torch.ones(12, 6, dtype=torch.long),
        "completion_ids": torch.randint(5, 300, (12, 12), generator=generator),
        "completion_mask": mask.long(),
    }
    whole = trainer._token_statistics(batch, mask, tuple(SCORES))
    for layer in trainer.model.model.layers:
        fully_shard(layer)
    fully_shard(trainer.model)
    in_parts = all(isinstance(weight, DTensor) for weight in trainer.model.parameters())
    sharded = trainer._token_statistics(batch, mask, tuple(SCORES))
    if trainer.accelerator.is_main_process:
        names = ["logprob", "h1", "h2", *SCORES]
        facts = {
            "apart": dict(zip(names, (whole.stack() - sharded.stack()).abs().flatten(1).amax(1).tolist(), strict=True)),
            "largest": dict(zip(names, whole.stack().abs().flatten(1).amax(1).tolist(), strict=True)),
            "ranks": trainer.accelerator.num_processes,
            "sharded": in_parts,
        }
        (out / "facts.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
