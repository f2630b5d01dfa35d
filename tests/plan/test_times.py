"""FLOPs and seconds by hand, on a device whose rates are round numbers."""

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ict_core.config.models import Architecture
from ict_core.plan import flops
from ict_core.plan.assumptions import Device
from ict_core.plan.costs import study_costs
from ict_core.plan.parameters import parameters
from ict_core.plan.sampling import in_flight, replica_gpus, sampling_seconds
from ict_core.plan.training import step_seconds
from ict_core.plan.work import Work, evaluation_work, step_work

TINY = Architecture(hidden_size=4, layers=2, heads=2, kv_heads=1, intermediate_size=3, vocab_size=32, max_positions=64)
SLOW = Device("slow", {"bfloat16": 1e6, "float32": 1e6}, 1e3, 1e3, 1.0, 1e9, 7.0)
WORK = Work(answers=10, prompt=4, longest_prompt=6, answer=8, limit=20)


def test_forward_flops_by_hand():
    # ten rows of six tokens; a layer: 2 * 84 for its matrices, and 2 * 4 * 6 for attention over three tokens on average
    assert flops.layers_forward(TINY, 10, 6) == 60 * 2 * (168 + 48)
    assert flops.head_forward(TINY, 10) == 2 * 32 * 4 * 10


def test_a_large_models_forward_pass_takes_two_flops_a_parameter(paper):
    model = paper.models["qwen2.5-7b"]
    a = model.architecture
    forward = flops.layers_forward(a, 1, 16) + flops.head_forward(a, 16)
    without_embeddings = parameters(a, model.tied_embeddings) - a.vocab_size * a.hidden_size
    assert forward == pytest.approx(16 * 2 * without_embeddings, rel=1e-3)


def test_decoding_is_bound_by_the_larger_of_reads_and_products(plan):
    assumed = plan.assumptions
    steps = 20  # the longest answer: all ten fit at once
    weights = parameters(TINY, True) * 2
    cached = 10 * 8 * (4 + 4) * 16
    reads = (steps * weights + cached) / 1e3
    own = steps * assumed.decode_step_seconds.value
    found = sampling_seconds(TINY, True, "bfloat16", WORK, SLOW, 1, 0.9, assumed)
    assert found == pytest.approx(reads + own)
    weak = dataclasses.replace(SLOW, flop_s={"bfloat16": 10.0, "float32": 10.0})
    products = flops.decode(TINY, 10, 4, 8) / 10
    assert products > reads
    assert sampling_seconds(TINY, True, "bfloat16", WORK, weak, 1, 0.9, assumed) == pytest.approx(products + own)


def test_more_answers_than_fit_take_more_steps(plan):
    assumed, weights = plan.assumptions, parameters(TINY, True) * 2
    room = weights + 3 * 12 * 16  # keys and values of three sequences of twelve tokens
    assert in_flight(TINY, True, "bfloat16", WORK, room, assumed) == 3
    small = dataclasses.replace(SLOW, memory=room / 0.9)
    steps = 10 * 8 / 3
    reads = (steps * weights + 10 * 8 * 8 * 16) / 1e3
    plenty = assumed.model_copy(
        update={"vllm_weights_share": assumed.vllm_weights_share.model_copy(update={"value": 1})}
    )
    found = sampling_seconds(TINY, True, "bfloat16", WORK, small, 1, 0.9, plenty)
    assert found == pytest.approx(reads + steps * assumed.decode_step_seconds.value)


@pytest.mark.parametrize(("memory", "gpus"), [(80e9, 1), (20e9, 2), (10e9, 4), (5e9, 8)])
def test_a_model_is_spread_over_the_fewest_gpus_that_leave_room(paper, plan, memory, gpus):
    # 15.2 GB of weights may take 0.7 of what vLLM has
    a = paper.models["qwen2.5-7b"].architecture
    assert replica_gpus(a, False, "bfloat16", memory, plan.assumptions) == gpus


def test_a_step_by_hand(paper, plan):
    model = paper.models["qwen2.5-0.5b"].model_copy(update={"architecture": TINY})
    training = paper.training.model_copy(update={"micro_batch_sequences": 2, "group_size": 2})
    parts = step_seconds(model, training, WORK, SLOW, 1, 8, plan.assumptions)
    layers, head = flops.layers_forward(TINY, 10, 26), flops.head_forward(TINY, 80)
    assert parts["reference"] == parts["old log-probs"] == pytest.approx((layers + head) / 1e6)
    # forward, again for checkpointing, twice back; the head forward, again, twice back
    assert parts["update"] == pytest.approx((4 * layers + 4 * head) / 1e6)
    live = 10 * 0.75 * 20
    assert parts["token statistics"] == pytest.approx(
        (layers + flops.head_forward(TINY, live)) / 1e6 + live * 32 * 4 * 34 / 1e3
    )
    assert parts["weight sync"] == pytest.approx(parameters(TINY, True) * 2 / 1e3)
    assert parts["rewards"] == pytest.approx(10 * plan.assumptions.grading_seconds.value)


def test_what_a_recipe_leaves_out_takes_no_time(paper, plan):
    model = paper.models["qwen2.5-0.5b"]
    work = step_work(paper, "qwen2.5-0.5b", plan.assumptions)
    bare = paper.training.model_copy(update={"kl_coef": 0.0, "rollouts": None})
    parts = step_seconds(model, bare, work, SLOW, 1, 8, plan.assumptions)
    assert (parts["reference"], parts["old log-probs"], parts["weight sync"]) == (0, 0, 0)
    plain = model.model_copy(update={"hardware": model.hardware.model_copy(update={"gradient_checkpointing": False})})
    assert step_seconds(plain, bare, work, SLOW, 1, 8, plan.assumptions)["update"] < parts["update"]


def test_sharded_weights_wait_for_a_slow_network(paper, plan):
    model = paper.models["qwen2.5-7b"]
    training = paper.training_of("qwen2.5-7b")
    work = step_work(paper, "qwen2.5-7b", plan.assumptions)
    near = step_seconds(model, training, work, SLOW, 4, 8, plan.assumptions)
    far = step_seconds(model, training, work, SLOW, 4, 2, plan.assumptions)
    assert near["rewards"] == pytest.approx(1024 * plan.assumptions.grading_seconds.value / 4)
    micro_batches = 1024 / (4 * 4)
    count = parameters(model.architecture, False)
    assert far["reference"] == pytest.approx(micro_batches * count * 2 / 2)  # two ports of 1 byte/s a node
    assert far["reference"] > near["reference"]
    assert far["update"] == pytest.approx(micro_batches * count * (2 * 2 + 4) / 2)


def test_evaluation_counts_every_answer(paper, plan):
    work = evaluation_work(paper, paper.models["qwen2.5-7b"].architecture, plan.assumptions)
    assert work.answers == 16 * (500 + 1319 + 3153 + 198) + 32 * 90
    assert work.tokens == work.answers * 0.25 * 2048


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.sampled_from(["steps", "max_new_tokens", "prompts_per_step", "group_size"]),
    gpu=st.sampled_from(["a100-80gb", "h100", "h200"]),
    times=st.integers(2, 20),
)
def test_training_costs_more_with_more_of_anything(paper, plan, key, gpu, times):
    def hours(study):
        return [c.hours for c in study_costs(study, plan, gpu, {}) if c.stage == "train"]

    more = paper.training.model_copy(update={key: times * getattr(paper.training, key)})
    grown = hours(dataclasses.replace(paper, training=more))
    assert all(new > old for new, old in zip(grown, hours(paper), strict=True))


def test_a_seed_more_costs_a_seed_more(paper, plan):
    blocks = tuple(block.model_copy(update={"seeds": (*block.seeds, 5)}) for block in paper.grid)
    costs = study_costs(paper, plan, "h100", {})
    grown = study_costs(dataclasses.replace(paper, grid=blocks), plan, "h100", {})
    for old, new in zip(costs, grown, strict=True):
        assert new.seconds == old.seconds
        assert new.jobs == (old.jobs * 6 / 5 if old.stage == "train" else (old.jobs - 1) * 6 / 5 + 1)


def test_a_faster_gpu_is_never_slower(paper, plan):
    for slow, fast in zip(*(study_costs(paper, plan, gpu, {}) for gpu in ("a100-80gb", "h200")), strict=True):
        assert fast.seconds <= slow.seconds
