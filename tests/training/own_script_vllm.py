"""A training by TRL's own trainer, or by ours with every token kept, whose rollouts come from vLLM by TRL's arguments.

``python own_script_vllm.py CHECKPOINT trl|own MODE OUT`` writes the weights and what was corrected, as JSON. On a CPU
TRL cannot give vLLM new weights, so its copy stays as it was: the rollouts are more off-policy with every step.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from trl.generation.vllm_generation import VLLMGeneration

from ict_core import SelectiveGRPOTrainer

CHECKPOINT, KIND, MODE, OUT = sys.argv[1:]
PROBLEMS = Dataset.from_dict({"prompt": [f"{a} + {b} = " for a in range(2, 7) for b in range(2, 6)]})
GENERATE = VLLMGeneration.generate


def ones(completions, **_):
    return [float(text.count("1")) for text in completions]


def length(completions, **_):
    return [len(text) / 10 for text in completions]


def seeded(self, *args, **kwargs):
    """Both trainers' rollouts begin from the same state of torch's generator."""
    torch.manual_seed(trainer.state.global_step)
    return GENERATE(self, *args, **kwargs)


VLLMGeneration.sync_weights = lambda self: None
VLLMGeneration.generate = seeded
arguments = GRPOConfig(
    output_dir=str(Path(OUT).parent / "unused"),
    loss_type="grpo",
    per_device_train_batch_size=8,
    num_generations=4,
    max_completion_length=12,
    max_steps=4,
    logging_steps=1,
    learning_rate=1e-3,
    save_strategy="no",
    report_to="none",
    use_cpu=True,
    bf16=False,
    disable_tqdm=True,
    use_vllm=True,
    vllm_mode="colocate",
    vllm_max_model_length=64,
    vllm_importance_sampling_mode=MODE,
    vllm_importance_sampling_clip_max=1.02,
)
more = {"selection": "grpo"} if KIND == "own" else {}
trainer = (SelectiveGRPOTrainer if KIND == "own" else GRPOTrainer)(
    CHECKPOINT, [ones, length], arguments, PROBLEMS, **more
)
trainer.train()
weights = {name: value.float().numpy().tobytes() for name, value in trainer.model.state_dict().items()}
told = {
    "weights": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(weights.items())},
    "losses": [logs["loss"] for logs in trainer.state.log_history if "loss" in logs],
    "corrected": [logs.get("sampling/corrected_share") for logs in trainer.state.log_history if "loss" in logs],
    "port": os.environ["MASTER_PORT"],
}
Path(OUT).write_text(json.dumps(told))
os._exit(0)  # an engine in this process ends slowly
