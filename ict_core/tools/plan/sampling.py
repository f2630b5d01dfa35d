"""How long vLLM takes to sample: decoding reads all weights and all keys and values at every step."""

from ict_core.config.models import Architecture, Dtype
from ict_core.tools.plan.assumptions import Assumptions, Device
from ict_core.tools.plan.flops import decode
from ict_core.tools.plan.parameters import BYTES, kv_bytes_per_token, parameters
from ict_core.tools.plan.work import Work


def replica_gpus(a: Architecture, tied: bool, dtype: Dtype, memory: float, assumed: Assumptions) -> int:
    """GPUs over which one vLLM spreads a model: the least power of two that leaves room for keys and values.

    Args:
        memory: bytes of one GPU that vLLM may take.
    """
    weights, gpus = parameters(a, tied) * BYTES[dtype], 1
    while weights > gpus * memory * assumed.vllm_weights_share.value:
        gpus *= 2
    return gpus


def in_flight(a: Architecture, tied: bool, dtype: Dtype, work: Work, room: float, assumed: Assumptions) -> float:
    """Sequences that one vLLM decodes at once: all of them, its most, or as many as find room.

    Args:
        work: what this vLLM has to sample.
        room: bytes that it may take on all its GPUs.
    """
    held = kv_bytes_per_token(a, dtype) * (work.prompt + work.answer)
    free = room - parameters(a, tied) * BYTES[dtype]
    return max(1.0, min(work.answers, assumed.sequences_in_flight.value, free / held))


def sampling_seconds(
    a: Architecture, tied: bool, dtype: Dtype, work: Work, device: Device, gpus: int, share: float, assumed: Assumptions
) -> float:
    """Wall time of sampling on `gpus` devices, spread evenly over as many vLLMs as fit.

    The larger of the products' time and the reads' time, and the steps' own. The steps are at least those of the
    longest answer. The reads are the weights once a step, and for each token the keys and values before it.

    Args:
        share: of a device's memory, to vLLM.
    """
    replica = min(gpus, replica_gpus(a, tied, dtype, device.memory * share, assumed))
    part = replica / gpus  # of the work, to one vLLM
    answers = work.answers * part
    at_once = min(in_flight(a, tied, dtype, work, device.memory * share * replica, assumed), max(1.0, answers))
    steps = max(work.limit, answers * work.answer / at_once)
    weights = parameters(a, tied) * BYTES[dtype]
    cached = answers * work.answer * (work.prompt + work.answer / 2) * kv_bytes_per_token(a, dtype)
    reads = (steps * weights + cached) / (device.bytes_s * replica)
    products = decode(a, answers, work.prompt, work.answer) / (device.flop_s[dtype] * replica)
    return max(reads, products) + steps * assumed.decode_step_seconds.value
