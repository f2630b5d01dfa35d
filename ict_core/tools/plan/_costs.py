"""What every stage of every model takes: tokens, FLOPs, and hours of GPUs or CPU threads."""

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from ict_core.config import Architecture, Dtype, Model, ScratchModel, Study, Training
from ict_core.tools.plan._assumptions import Assumptions, Device, PlanFile, Rate, Rates, cpu_device, gpu_device

BYTES: dict[Dtype, int] = {"bfloat16": 2, "float32": 4}  # of one number
FLOAT32 = BYTES["float32"]


def layer_matrices(a: Architecture) -> int:
    """Entries of the matrices of one layer: queries and output, keys and values, gate, up and down."""
    return 2 * a.hidden_size**2 + 2 * a.hidden_size * _kv_features(a) + 3 * a.hidden_size * a.intermediate_size


def head_matrix(a: Architecture) -> int:
    """Entries of the LM head, as many as of the embeddings."""
    return a.vocab_size * a.hidden_size


def parameters(a: Architecture, tied: bool) -> int:
    """All parameters: matrices, biases of queries, keys and values, norms, embeddings, and a head unless `tied`."""
    vectors = a.hidden_size + 2 * _kv_features(a) + 2 * a.hidden_size  # biases, two norms
    return a.layers * (layer_matrices(a) + vectors) + a.hidden_size + head_matrix(a) * (1 if tied else 2)


def weight_bytes(model: Model) -> int:
    """All weights in the model's dtype."""
    return parameters(model.architecture, model.tied_embeddings) * BYTES[model.dtype]


def kv_bytes_per_token(a: Architecture, dtype: Dtype) -> int:
    """Bytes of the keys and values that decoding keeps of one token."""
    return 2 * a.layers * _kv_features(a) * BYTES[dtype]


def _kv_features(a: Architecture) -> int:
    return a.kv_heads * a.head_size


def layers_forward(a: Architecture, sequences: float, width: float, tokens: float | None = None) -> float:
    """FLOPs of all layers, without embeddings and head.

    Causal attention looks over each row, at half of its `width` in tokens (padding included) on average: scores and
    their sum over values take 2 * 2 * hidden * width / 2 a token and layer. The matrices see `tokens`, by default all.
    """
    seen = sequences * width
    return a.layers * (2 * layer_matrices(a) * (seen if tokens is None else tokens) + 2 * a.hidden_size * width * seen)


def head_forward(a: Architecture, tokens: float) -> float:
    """FLOPs of the LM head over some tokens."""
    return 2 * head_matrix(a) * tokens


def decode(a: Architecture, sequences: float, prompt: float, answer: float) -> float:
    """FLOPs of sampling: the prompts' prefill, then each token's layers and head."""
    return layers_forward(a, sequences, prompt + answer) + head_forward(a, sequences * answer)


@dataclass(frozen=True)
class Work:
    """The answers of one job, or of one training step; lengths are in tokens."""

    answers: int
    prompt: float  # mean
    longest_prompt: float  # to which dense passes pad
    answer: float  # mean
    limit: int  # the longest an answer may be

    @property
    def tokens(self) -> float:
        """Tokens of all answers."""
        return self.answers * self.answer

    @property
    def width(self) -> float:
        """Tokens of a padded row: among many answers one runs into the limit."""
        return self.longest_prompt + self.limit

    def distinct_tokens(self, rows: int, group_size: int) -> float:
        """Tokens of packed passes over so many rows each: all answers', and a group's prompt once a pass."""
        prompts = self.answers / rows * math.ceil(rows / group_size)
        return self.tokens + prompts * self.prompt


def cells_of(study: Study, model: str) -> tuple[int, int]:
    """How many cells of a model are trained, and how many evaluated (the base models too)."""
    cells = study.trained_cells(), study.evaluated_cells()
    trained, evaluated = (sum(cell.model == model for cell in of) for of in cells)
    return trained, evaluated


def step_work(study: Study, model: str, assumed: Assumptions, rate: Rate | None = None) -> Work:
    """One training step of a model; its answers are as long as the measured ones where there are such."""
    training = study.training
    room = study.models[model].architecture.max_positions - training.max_new_tokens
    longest = min(assumed.longest_prompt_tokens.value, training.max_prompt_tokens or room, room)
    prompt = min(assumed.prompt_tokens.value, longest)
    answer = rate.answer if rate else assumed.train_answer_share.value * training.max_new_tokens
    return Work(training.sequences_per_step, prompt, longest, answer, training.max_new_tokens)


def evaluation_work(study: Study, model: str, assumed: Assumptions, rate: Rate | None = None) -> Work:
    """One cell's answers to all benchmarks, likewise."""
    evaluation = study.evaluation
    room = study.models[model].architecture.max_positions - evaluation.max_new_tokens
    prompt = min(assumed.prompt_tokens.value, room)
    answer = rate.answer if rate else assumed.evaluation_answer_share.value * evaluation.max_new_tokens
    return Work(study.answers(), prompt, prompt, answer, evaluation.max_new_tokens)


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
    products = decode(a, answers, work.prompt, work.answer) / (device.flop_s[model.dtype] * replica)
    return max(reads, products) + steps * assumed.decode_step_seconds.value


def step_seconds(
    model: Model, training: Training, work: Work, device: Device, gpus: int, node_gpus: int, assumed: Assumptions
) -> dict[str, float]:
    """Wall seconds of one step by part, in the order in which they happen.

    Dense passes run over rows that are padded to the longest prompt and answer. Packed ones run over distinct tokens;
    attention looks over whole sequences, of the mean length as similar ones stand together. The head runs over the
    answers' tokens alone: GRPO keeps them all, so the update of a rule that keeps fewer takes less. A pass of sharded
    weights takes the longer of its products and its traffic, which overlap; the traffic of more than `node_gpus`
    devices goes over the network.
    """
    a, hardware, rollouts = model.architecture, model.hardware, training.rollouts
    flop_s = device.flop_s[training.precision] * gpus
    weights = parameters(a, model.tied_embeddings)
    # a node takes in what it lacks over all its GPUs' network ports, and hands it round inside
    link = device.link_s if gpus <= node_gpus else min(device.link_s, node_gpus * device.network_s)
    head = head_forward(a, work.tokens)
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

    forward = seconds(_forward(a, training, work, grouped) + head, grouped, 1)
    share = (rollouts.memory_share if rollouts else None) or assumed.vllm_memory_share.value
    # packed statistics of groups that lie whole on a process are those of the old log-probs too,
    # or without vLLM share the pass of an update of one micro-batch
    joined = packed and own % training.group_size == 0
    states = head / flop_s if joined and not rollouts and not sharded and micro == own else forward
    vocabulary = work.tokens * a.vocab_size * FLOAT32 * assumed.statistics_vocabulary_passes.value
    backward = 1 if training.lora else 2  # frozen weights have no gradient
    again = 1 if hardware is not None and hardware.gradient_checkpointing else 0
    # the head's logits are not kept but made again
    products = (1 + again + backward) * _forward(a, training, work, micro) + (2 + backward) * head
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


def _forward(a: Architecture, training: Training, work: Work, rows: int) -> float:
    """FLOPs of all layers' forward passes, over so many rows each."""
    if training.passes == "dense":
        return layers_forward(a, work.answers, work.width)
    tokens = work.distinct_tokens(rows, training.group_size)
    return layers_forward(a, work.answers, work.prompt + work.answer, tokens)


def pretraining_seconds(model: Model, tokens: float, width: float, device: Device) -> float:
    """Wall seconds of pretraining on one device: forward and backward of layers and head."""
    a = model.architecture
    products = 3 * (layers_forward(a, tokens / width, width) + head_forward(a, tokens))
    return products / device.flop_s["float32"]


@dataclass(frozen=True)
class Cost:
    """One stage of one model."""

    stage: str  # pretrain, supervised_start, train, generate or grade
    model: str
    jobs: int
    tokens: float  # of one job
    seconds: float  # its wall time
    devices: int  # GPUs or CPU threads that it takes
    kind: Literal["GPU", "CPU"]
    measured: int = 0  # finished jobs that the seconds come from; 0 where they are an estimate
    parts: dict[str, float] = field(default_factory=dict)  # the estimate's seconds
    limit_hours: float | None = None  # of one job, that the model's `hardware` gives a scheduler

    @property
    def hours(self) -> float:
        """GPU-hours or CPU-hours of all jobs."""
        return self.jobs * self.seconds * self.devices / 3600


def study_costs(study: Study, plan: PlanFile, gpu: str, rates: Rates) -> list[Cost]:
    """Every stage's cost, model by model: by what finished jobs took, and where there is none an estimate.

    Models that have `hardware` run on `gpu`, a key of the plan's `gpus`; the others on CPU threads.
    """
    costs = []
    for name, model in study.models.items():
        device = cpu_device(plan) if model.hardware is None else gpu_device(plan, gpu)
        if isinstance(model, ScratchModel):
            bases = sum(base.model == name for base in study.all_bases())
            costs.append(_pretraining(name, model, bases, plan, device, rates.get(("pretrain", name))))
        elif model.supervised_start is not None:
            costs.append(_start(study, name, plan, device, rates.get(("supervised_start", name))))
        generation = _generation(study, name, plan, device, rates.get(("generate", name)))
        grading = evaluation_work(study, name, plan.assumptions).answers * plan.assumptions.grading_seconds.value
        costs += [
            _training(study, name, plan, device, rates.get(("train", name))),
            generation,
            Cost("grade", name, generation.jobs, generation.tokens, grading, 1, "CPU"),
        ]
    return costs


def wall_hours(costs: list[Cost], gpus: int) -> float | None:
    """The least wall time of all GPU jobs on so many GPUs; None where a job takes more than there are.

    It is the larger of GPU-hours over GPUs and the longest training with its generation: no schedule does better, and
    one that starts the long jobs first comes close.
    """
    on_gpus = [cost for cost in costs if cost.kind == "GPU"]
    if any(cost.devices > gpus for cost in on_gpus):
        return None
    chains: dict[str, float] = {}
    for cost in on_gpus:
        chains[cost.model] = chains.get(cost.model, 0.0) + cost.seconds / 3600
    return max([sum(cost.hours for cost in on_gpus) / gpus, *chains.values()], default=0.0)


def _by_rate(cost: Cost, rate: Rate | None) -> Cost:
    """The cost by what finished jobs took, where there are any."""
    if rate is None:
        return cost
    return replace(cost, seconds=cost.tokens * rate.seconds_per_token, measured=rate.jobs, parts={})


def _pretraining(name: str, model: ScratchModel, jobs: int, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    length = rate.answer if rate else plan.assumptions.document_tokens.value
    tokens = model.pretraining.steps * model.pretraining.batch_sequences * length  # each document is read once
    parts = {"start": device.start_seconds, "steps": pretraining_seconds(model, tokens, length, device)}
    return _by_rate(Cost("pretrain", name, jobs, tokens, sum(parts.values()), 1, device.kind, parts=parts), rate)


def _start(study: Study, name: str, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    model = study.models[name]
    assert model.supervised_start is not None
    length = plan.assumptions.prompt_tokens.value + plan.assumptions.document_tokens.value
    tokens = model.supervised_start.problems * length
    parts = {"start": device.start_seconds, "steps": pretraining_seconds(model, tokens, length, device)}
    return _by_rate(Cost("supervised_start", name, 1, tokens, sum(parts.values()), 1, device.kind, parts=parts), rate)


def _training(study: Study, name: str, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    model, training, hardware = study.models[name], study.training_of(name), study.models[name].hardware
    jobs, _ = cells_of(study, name)
    devices = hardware.gpus if hardware else training.threads
    work = step_work(study, name, plan.assumptions, rate)
    step = step_seconds(model, training, work, device, devices, plan.node_gpus, plan.assumptions)
    parts = {"start": device.start_seconds, **{part: s * training.steps for part, s in step.items()}}
    tokens, limit = training.steps * work.tokens, hardware.train_hours if hardware else None
    cost = Cost("train", name, jobs, tokens, sum(parts.values()), devices, device.kind, 0, parts, limit)
    return _by_rate(cost, rate)


def _generation(study: Study, name: str, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    model, assumed, hardware = study.models[name], plan.assumptions, study.models[name].hardware
    share = assumed.vllm_memory_share.value
    _, jobs = cells_of(study, name)
    devices = replica_gpus(model, device.memory * share, assumed) if hardware else study.evaluation.threads
    work = evaluation_work(study, name, assumed, rate)
    sampling = sampling_seconds(model, work, device, devices, share, assumed)
    parts = {"start": device.start_seconds, "sampling": sampling}
    limit = hardware.generate_hours if hardware else None
    cost = Cost("generate", name, jobs, work.tokens, sum(parts.values()), devices, device.kind, 0, parts, limit)
    return _by_rate(cost, rate)
