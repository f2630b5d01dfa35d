"""How long a GRPO step takes, part by part."""

from ict_core.config.models import Architecture, Model
from ict_core.config.training import Training
from ict_core.tools.plan import flops
from ict_core.tools.plan.assumptions import Assumptions, Device
from ict_core.tools.plan.parameters import BYTES, parameters
from ict_core.tools.plan.sampling import sampling_seconds
from ict_core.tools.plan.work import Work

FLOAT32 = BYTES["float32"]


def step_seconds(
    model: Model, training: Training, work: Work, device: Device, gpus: int, node_gpus: int, assumed: Assumptions
) -> dict[str, float]:
    """Wall seconds of one step by part, in the order in which they happen.

    Dense passes run over rows that are padded to the longest prompt and answer. Packed ones run over distinct tokens;
    attention looks over whole sequences, of the mean length as similar ones stand together. The head runs over the
    answers' tokens alone: GRPO keeps them all, so the update of a rule that keeps fewer takes less. A pass of sharded
    weights takes the longer of its products and its traffic, which overlap.

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
    head = flops.head_forward(a, work.tokens)
    sharded = hardware is not None and hardware.accelerate == "fsdp2"
    packed = training.passes == "packed"
    processes = gpus if hardware else 1
    own = work.answers // processes  # rollouts of each process
    micro = training.micro_batch_sequences
    grouped = min(training.rows_of_groups, own) if packed else micro  # rows of a pass without a gradient

    def seconds(products: float, rows: int, gathers: int, reductions: int = 0) -> float:
        moved = weights * (gathers * BYTES[training.precision] + reductions * FLOAT32)
        traffic = own / rows * moved / link if sharded else 0.0
        return max(products / flop_s, traffic)

    forward = seconds(_layers_forward(a, training, work, grouped) + head, grouped, 1)
    of_vllm = training.rollouts is not None
    share = (training.rollouts.memory_share if training.rollouts else None) or assumed.vllm_memory_share.value
    # packed statistics of groups that lie whole on a process are those of the old log-probs too,
    # or without vLLM share the pass of an update of one micro-batch
    joined = packed and own % training.group_size == 0
    shared = joined and not of_vllm and not sharded and micro == own
    vocabulary = work.tokens * a.vocab_size * FLOAT32 * assumed.statistics_vocabulary_passes.value
    states = head / flop_s if shared else forward
    backward = 1 if training.lora else 2  # frozen weights have no gradient
    again = 1 if hardware is not None and hardware.gradient_checkpointing else 0
    # the head's logits are not kept but made again
    products = (1 + again + backward) * _layers_forward(a, training, work, micro) + (2 + backward) * head
    if packed and not training.kl_coef:
        products *= 1 - assumed.zero_advantage_share.value  # such rollouts are left out
    update = seconds(products, micro, 2, 1)
    if not sharded and gpus > 1:
        update += 2 * weights * FLOAT32 / link  # a ring's all-reduce of the gradients
    moved = weights * BYTES[model.dtype]
    return {
        "weight sync": moved / (link if gpus > 1 else device.bytes_s) if of_vllm else 0.0,
        "rollouts": sampling_seconds(a, model.tied_embeddings, model.dtype, work, device, gpus, share, assumed),
        "rewards": work.answers * assumed.grading_seconds.value / (processes * training.threads),
        "old log-probs": forward if of_vllm and not joined else 0.0,
        "reference": forward if training.kl_coef else 0.0,
        "token statistics": states + vocabulary / (device.bytes_s * gpus),
        "update": update,
    }


def _layers_forward(a: Architecture, training: Training, work: Work, rows: int) -> float:
    """FLOPs of all layers' forward passes, over so many rows each."""
    if training.passes == "dense":
        return flops.layers_forward(a, work.answers, work.width)
    tokens = work.distinct_tokens(rows, training.group_size)
    return flops.layers_forward(a, work.answers, work.prompt + work.answer, tokens)


def pretraining_seconds(model: Model, tokens: float, width: float, device: Device) -> float:
    """Wall seconds of pretraining on one device: forward and backward of layers and head."""
    a = model.architecture
    products = 3 * (flops.layers_forward(a, tokens / width, width) + flops.head_forward(a, tokens))
    return products / device.flop_s["float32"]
