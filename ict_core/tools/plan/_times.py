"""How long sampling, a GRPO step and a pretraining take."""

from ict_core.config import Architecture, Model, Training
from ict_core.tools.plan import _transformer as transformer
from ict_core.tools.plan._assumptions import Assumptions, Device
from ict_core.tools.plan._transformer import BYTES, FLOAT32, kv_bytes_per_token, parameters, weight_bytes
from ict_core.tools.plan._work import Work


def replica_gpus(model: Model, memory: float, assumed: Assumptions) -> int:
    """GPUs over which one vLLM spreads a model: the least power of two that leaves room for keys and values.

    vLLM may take `memory` bytes of each.
    """
    gpus = 1
    while weight_bytes(model) > gpus * memory * assumed.vllm_weights_share.value:
        gpus *= 2
    return gpus


def in_flight(model: Model, work: Work, room: float, assumed: Assumptions) -> float:
    """Sequences that one vLLM decodes at once: all that it has, its most, or as many as `room` bytes hold."""
    held = kv_bytes_per_token(model.architecture, model.dtype) * (work.prompt + work.answer)
    free = room - weight_bytes(model)
    return max(1.0, min(work.answers, assumed.sequences_in_flight.value, free / held))


def sampling_seconds(model: Model, work: Work, device: Device, gpus: int, share: float, assumed: Assumptions) -> float:
    """Wall time of sampling on `gpus` devices, spread evenly over as many vLLMs as fit.

    The larger of the products' time and the reads' time, and the steps' own. The steps are at least those of the
    longest answer. The reads are the weights once a step, and for each token the keys and values before it. `share` is
    the part of a device's memory that vLLM has.
    """
    a = model.architecture
    replica = min(gpus, replica_gpus(model, device.memory * share, assumed))
    answers = work.answers * (replica / gpus)  # to one vLLM
    at_once = min(in_flight(model, work, device.memory * share * replica, assumed), max(1.0, answers))
    steps = max(work.limit, answers * work.answer / at_once)
    cached = answers * work.answer * (work.prompt + work.answer / 2) * kv_bytes_per_token(a, model.dtype)
    reads = (steps * weight_bytes(model) + cached) / (device.bytes_s * replica)
    products = transformer.decode(a, answers, work.prompt, work.answer) / (device.flop_s[model.dtype] * replica)
    return max(reads, products) + steps * assumed.decode_step_seconds.value


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
    a, hardware, rollouts = model.architecture, model.hardware, training.rollouts
    flop_s = device.flop_s[training.precision] * gpus
    weights = parameters(a, model.tied_embeddings)
    # a node takes in what it lacks over all its GPUs' network ports, and hands it round inside
    link = device.link_s if gpus <= node_gpus else min(device.link_s, node_gpus * device.network_s)
    head = transformer.head_forward(a, work.tokens)
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
    share = (rollouts.memory_share if rollouts else None) or assumed.vllm_memory_share.value
    # packed statistics of groups that lie whole on a process are those of the old log-probs too,
    # or without vLLM share the pass of an update of one micro-batch
    joined = packed and own % training.group_size == 0
    states = head / flop_s if joined and not rollouts and not sharded and micro == own else forward
    vocabulary = work.tokens * a.vocab_size * FLOAT32 * assumed.statistics_vocabulary_passes.value
    backward = 1 if training.lora else 2  # frozen weights have no gradient
    again = 1 if hardware is not None and hardware.gradient_checkpointing else 0
    # the head's logits are not kept but made again
    products = (1 + again + backward) * _layers_forward(a, training, work, micro) + (2 + backward) * head
    if packed and not training.kl_coef:
        products *= 1 - assumed.zero_advantage_share.value  # such rollouts are left out
    update = seconds(products, micro, 2, 1)
    if not sharded and gpus > 1:
        update += 2 * weights * FLOAT32 / link  # a ring's all-reduce of the gradients
    return {
        "weight sync": weight_bytes(model) / (link if gpus > 1 else device.bytes_s) if rollouts else 0.0,
        "rollouts": sampling_seconds(model, work, device, gpus, share, assumed),
        "rewards": work.answers * assumed.grading_seconds.value / (processes * training.threads),
        "old log-probs": forward if rollouts and not joined else 0.0,
        "reference": forward if training.kl_coef else 0.0,
        "token statistics": states + vocabulary / (device.bytes_s * gpus),
        "update": update,
    }


def _layers_forward(a: Architecture, training: Training, work: Work, rows: int) -> float:
    """FLOPs of all layers' forward passes, over so many rows each."""
    if training.passes == "dense":
        return transformer.layers_forward(a, work.answers, work.width)
    tokens = work.distinct_tokens(rows, training.group_size)
    return transformer.layers_forward(a, work.answers, work.prompt + work.answer, tokens)


def pretraining_seconds(model: Model, tokens: float, width: float, device: Device) -> float:
    """Wall seconds of pretraining on one device: forward and backward of layers and head."""
    a = model.architecture
    products = 3 * (transformer.layers_forward(a, tokens / width, width) + transformer.head_forward(a, tokens))
    return products / device.flop_s["float32"]
