"""What TRL and accelerate lack for a model that accelerate shards by FSDP2 (configs/accelerate/fsdp2.yaml)."""

import os
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy
from trl import GRPOConfig


def is_sharded() -> bool:
    """Whether accelerate shards the model over the ranks; it does so on GPUs only."""
    return torch.cuda.is_available() and os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"


def prepare(arguments: GRPOConfig) -> None:
    """Change TRL's arguments for a sharded model.

    * The reference is read to this rank's GPU. TRL would spread it over all GPUs, by hooks that stay.
    * Each micro-batch's gradient is sharded at once. Otherwise the whole gradient is in memory until the last one.
    * In bfloat16, gradients are added up and log-probabilities are returned in float32, as without sharding.
    """
    arguments.model_init_kwargs = {"device_map": {"": int(os.environ.get("LOCAL_RANK", "0"))}}
    accelerator: Any = arguments.accelerator_config
    accelerator.gradient_accumulation_kwargs = {"sync_each_batch": True}
    if arguments.bf16:
        policy = MixedPrecisionPolicy(torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32)
        # keywords of accelerate's plugin, which takes all others from the launcher's file, and has no key for this one
        arguments.fsdp_plugin_args = {"mixed_precision_policy": policy}


def reshard(model: torch.nn.Module) -> None:
    """Shard again what a pass without a gradient has gathered: accelerate leaves the last norm and the head whole."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()
