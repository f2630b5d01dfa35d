"""How long a GRPO step takes, part by part."""

from ict_core.config.models import Model
from ict_core.config.training import Training
from ict_core.plan import flops
from ict_core.plan.assumptions import Assumptions, Device
from ict_core.plan.parameters import BYTES, parameters
from ict_core.plan.sampling import sampling_seconds
from ict_core.plan.work import Work

FLOAT32 = BYTES["float32"]


def step_seconds(
    model: Model, training: Training, work: Work, device: Device, gpus: int, node_gpus: int, assumed: Assumptions
) -> dict[str, float]:
    """Wall seconds of one step by part, in the order in which they happen.

    Every pass runs over rows that are padded to the longest prompt and answer; the head runs over the answers' tokens
    alone. A pass of sharded weights takes the longer of its products and its traffic, which overlap.

    Args:
        training: the recipe as the model runs it.
        gpus: devices of the job.
        node_gpus: devices of a node; beyond them traffic goes over the network.
    """
    a, hardware = model.architecture, model.hardware
    flop_s = device.flop_s[training.precision] * gpus
    weights = parameters(a, model.tied_embeddings)
    # a node takes in what it lacks over all its GPUs' network ports, and hands it round inside
    link = device.link_s if gpus <= node_gpus else min(device.link_s, node_gpus * device.network_s)
    layers, head = flops.layers_forward(a, work.answers, work.width), flops.head_forward(a, work.tokens)
    sharded = hardware is not None and hardware.accelerate == "fsdp2"
    passes = work.answers / (training.micro_batch_sequences * gpus)  # micro-batches of each process

    def seconds(products: float, gathers: int, reductions: int = 0) -> float:
        moved = weights * (gathers * BYTES[training.precision] + reductions * FLOAT32)
        traffic = passes * moved / link if sharded else 0.0
        return max(products / flop_s, traffic)

    forward = seconds(layers + head, 1)
    of_vllm = training.rollouts is not None
    share = (training.rollouts.memory_share if training.rollouts else None) or assumed.vllm_memory_share.value
    live = work.answers * assumed.group_longest_share.value * work.limit
    vocabulary = live * a.vocab_size * FLOAT32 * assumed.statistics_vocabulary_passes.value
    statistics = seconds(layers + flops.head_forward(a, live), 1) + vocabulary / (device.bytes_s * gpus)
    backward = 1 if training.lora else 2  # frozen weights have no gradient
    again = 1 if hardware is not None and hardware.gradient_checkpointing else 0
    # the head's logits are not kept but made again
    update = seconds((1 + again + backward) * layers + (2 + backward) * head, 2, 1)
    if not sharded and gpus > 1:
        update += 2 * weights * FLOAT32 / link  # a ring's all-reduce of the gradients
    moved = weights * BYTES[model.dtype]
    return {
        "weight sync": moved / (link if gpus > 1 else device.bytes_s) if of_vllm else 0.0,
        "rollouts": sampling_seconds(a, model.tied_embeddings, model.dtype, work, device, gpus, share, assumed),
        "rewards": work.answers * assumed.grading_seconds.value / (gpus if hardware else 1),  # a worker a process
        "old log-probs": forward if of_vllm else 0.0,
        "reference": forward if training.kl_coef else 0.0,
        "token statistics": statistics,
        "update": update,
    }


def pretraining_seconds(model: Model, tokens: float, width: float, device: Device) -> float:
    """Wall seconds of pretraining on one device: forward and backward of layers and head."""
    a = model.architecture
    products = 3 * (flops.layers_forward(a, tokens / width, width) + flops.head_forward(a, tokens))
    return products / device.flop_s["float32"]
