"""Token statistics and gradients of a model before and after FSDP2 shards it: ``torchrun ... CHECKPOINT RECIPE OUT``.

accelerate shards on GPUs only, so its function that shards a model is called here without its trainer.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from accelerate.utils import FullyShardedDataParallelPlugin
from accelerate.utils.fsdp_utils import fsdp2_prepare_model
from short_runs import MODEL, Rule, leave_vllm_out
from torch.distributed.tensor import DTensor

from ict_core.config.methods import Training
from ict_core.problems.mini.problems import training_problems
from ict_core.store.token_scores import GROUP_SCORES
from ict_core.training.run import TrainingRun, build_trainer

LENGTHS = torch.tensor([9, 4, 1, 7, 12, 12, 3, 5, 6, 10, 2, 8])


def main() -> None:
    leave_vllm_out()
    checkpoint, recipe, out = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    training = Training.model_validate_json(recipe.read_text())
    method, problems = Rule("grpo", "response"), training_problems(0, 40, set())
    training_run = TrainingRun(checkpoint, problems, MODEL, training, method, seed=0)
    trainer, _ = build_trainer(training_run, None, out / "scratch")
    generator = torch.Generator().manual_seed(0)
    mask = torch.arange(12) < LENGTHS.unsqueeze(1)
    batch = {
        "prompt_ids": torch.randint(5, 300, (12, 6), generator=generator),
        "prompt_mask": torch.ones(12, 6, dtype=torch.long),
        "completion_ids": torch.randint(5, 300, (12, 12), generator=generator),
        "completion_mask": mask.long(),
    }
    whole, gradients = trainer._passes.statistics(batch, tuple(GROUP_SCORES)), gradients_of(trainer, batch, mask)
    shard(trainer.model, {})
    in_parts = all(isinstance(weight, DTensor) for weight in trainer.model.parameters())
    sharded, gathered = trainer._passes.statistics(batch, tuple(GROUP_SCORES)), gradients_of(trainer, batch, mask)
    if trainer.accelerator.is_main_process:
        facts = {
            "apart": {name: (whole[name] - sharded[name]).abs().max().item() for name in whole.names},
            "largest": {name: whole[name].abs().max().item() for name in whole.names},
            "gradient": max(gradient.abs().max().item() for gradient in gradients),
            "gradient_apart": max((a - b).abs().max().item() for a, b in zip(gradients, gathered, strict=True)),
            "ranks": trainer.accelerator.num_processes,
            "sharded": in_parts,
        }
        (out / "facts.json").write_text(json.dumps(facts))


def shard(model: torch.nn.Module, keywords: dict[str, Any], precision: str = "no") -> None:
    """Shard a model as accelerate does with configs/accelerate/fsdp2.yaml and these keywords of its plugin."""
    launched = {"fsdp_version": 2, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "reshard_after_forward": True}
    plugin = FullyShardedDataParallelPlugin(**launched, **keywords)
    if precision != "no":
        plugin.set_mixed_precision(precision)
    state, device = SimpleNamespace(fsdp_plugin=plugin), torch.device("cpu")
    accelerator = SimpleNamespace(state=state, mixed_precision=precision, is_main_process=True, device=device)
    fsdp2_prepare_model(accelerator, model)


def gradients_of(trainer: Any, batch: dict[str, Any], mask: torch.Tensor) -> list[torch.Tensor]:
    """Of the sum of the log-probabilities of every other response token, whole."""
    wanted = mask & (torch.arange(12) % 2 == 0)
    trainer.model.zero_grad()
    trainer._passes.log_probs(trainer.model, batch, wanted)[wanted].sum().backward()
    found = [parameter.grad for parameter in trainer.model.parameters()]
    return [(g.full_tensor() if isinstance(g, DTensor) else g).clone() for g in found]


if __name__ == "__main__":
    main()
