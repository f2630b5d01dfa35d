"""FLOPs and seconds by hand, on a device whose rates are round numbers."""

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ict_core.config import Architecture
from ict_core.tools.plan import _costs as transformer
from ict_core.tools.plan import parameters, step_work, study_costs
from ict_core.tools.plan._assumptions import Device
from ict_core.tools.plan._costs import Work, evaluation_work, in_flight, replica_gpus, sampling_seconds, step_seconds

TINY = Architecture(hidden_size=4, layers=2, heads=2, kv_heads=1, intermediate_size=3, vocab_size=32, max_positions=64)
SLOW = Device("GPU", {"bfloat16": 1e6, "float32": 1e6}, 1e3, 1e3, 1.0, 1e9, 7.0)
WORK = Work(answers=10, prompt=4, longest_prompt=6, answer=8, limit=20)


@pytest.fixture
def tiny(paper):
    """A model of TINY, tied and in bfloat16."""
    return paper.models["qwen2.5-0.5b"].model_copy(update={"architecture": TINY})


def test_forward_flops_by_hand():
    # ten rows of six tokens; a layer: 2 * 84 for its matrices, and 2 * 4 * 6 for attention over three tokens on average
    assert transformer.layers_forward(TINY, 10, 6) == 60 * 2 * (168 + 48)
    # of the sixty, forty are distinct
    assert transformer.layers_forward(TINY, 10, 6, 40) == 2 * (40 * 168 + 60 * 48)
    assert transformer.head_forward(TINY, 10) == 2 * 32 * 4 * 10


def test_a_large_models_forward_pass_takes_two_flops_a_parameter(paper):
    model = paper.models["qwen2.5-7b"]
    a = model.architecture
    forward = transformer.layers_forward(a, 1, 16) + transformer.head_forward(a, 16)
    without_embeddings = parameters(a, model.tied_embeddings) - a.vocab_size * a.hidden_size
    assert forward == pytest.approx(16 * 2 * without_embeddings, rel=1e-3)


def test_decoding_is_bound_by_the_larger_of_reads_and_products(tiny, plan):
    assumed = plan.assumptions
    steps = 20  # the longest answer: all ten fit at once
    weights = parameters(TINY, True) * 2
    cached = 10 * 8 * (4 + 4) * 16
    reads = (steps * weights + cached) / 1e3
    own = steps * assumed.decode_step_seconds.value
    found = sampling_seconds(tiny, WORK, SLOW, 1, 0.9, assumed)
    assert found == pytest.approx(reads + own)
    weak = dataclasses.replace(SLOW, flop_s={"bfloat16": 10.0, "float32": 10.0})
    products = transformer.decode(TINY, 10, 4, 8) / 10
    assert products > reads
    assert sampling_seconds(tiny, WORK, weak, 1, 0.9, assumed) == pytest.approx(products + own)


def test_more_answers_than_fit_take_more_steps(tiny, plan):
    assumed, weights = plan.assumptions, parameters(TINY, True) * 2
    room = weights + 3 * 12 * 16  # keys and values of three sequences of twelve tokens
    assert in_flight(tiny, WORK, room, assumed) == 3
    small = dataclasses.replace(SLOW, memory=room / 0.9)
    steps = 10 * 8 / 3
    reads = (steps * weights + 10 * 8 * 8 * 16) / 1e3
    plenty = assumed.model_copy(
        update={"vllm_weights_share": assumed.vllm_weights_share.model_copy(update={"value": 1})}
    )
    found = sampling_seconds(tiny, WORK, small, 1, 0.9, plenty)
    assert found == pytest.approx(reads + steps * assumed.decode_step_seconds.value)


@pytest.mark.parametrize(("memory", "gpus"), [(80e9, 1), (20e9, 2), (10e9, 4), (5e9, 8)])
def test_a_model_is_spread_over_the_fewest_gpus_that_leave_room(paper, plan, memory, gpus):
    # 15.2 GB of weights may take 0.7 of what vLLM has
    assert replica_gpus(paper.models["qwen2.5-7b"], memory, plan.assumptions) == gpus


HEAD = 80 * 2 * 32 * 4 / 1e6  # seconds of SLOW for WORK's 80 answer tokens
VOCABULARY = 80 * 32 * 4 * 24 / 1e3


def tiny_step(paper, plan, gpus=1, hardware=True, **changes):
    """WORK's step by SLOW, of groups of two unless changed."""
    model = paper.models["qwen2.5-0.5b"].model_copy(update={"architecture": TINY})
    if not hardware:
        model = model.model_copy(update={"hardware": None})
    recipe = {"micro_batch_sequences": 2, "group_size": 2, "threads": 3, **changes}
    return step_seconds(model, paper.training.model_copy(update=recipe), WORK, SLOW, gpus, 8, plan.assumptions)


def test_a_packed_step_by_hand(paper, plan):
    parts = tiny_step(paper, plan)
    # five prompts of four tokens and ten answers of eight, in rows of twelve; 2 * 84 a token, 2 * 4 * 12 for attention
    layers = 2 * (100 * 168 + 120 * 96) / 1e6
    assert parts["old log-probs"] == 0
    assert parts["reference"] == pytest.approx(layers + HEAD)
    # forward, again for checkpointing, twice back; the head forward, again, twice back
    assert parts["update"] == pytest.approx(4 * layers + 4 * HEAD)
    assert parts["token statistics"] == pytest.approx(layers + HEAD + VOCABULARY)
    assert parts["weight sync"] == pytest.approx(parameters(TINY, True) * 2 / 1e3)
    assert parts["rewards"] == pytest.approx(10 * plan.assumptions.grading_seconds.value / 3)


def test_a_dense_step_by_hand(paper, plan):
    parts = tiny_step(paper, plan, passes="dense")
    layers = 10 * 26 * 2 * (168 + 2 * 4 * 26) / 1e6
    assert parts["reference"] == parts["old log-probs"] == pytest.approx(layers + HEAD)
    assert parts["update"] == pytest.approx(4 * layers + 4 * HEAD)
    assert parts["token statistics"] == pytest.approx(layers + HEAD + VOCABULARY)


@pytest.mark.parametrize(
    ("rows", "group_size", "prompts"),
    [(10, 2, 5), (4, 2, 5), (2, 2, 5), (1, 2, 10), (2, 10, 5), (5, 10, 2), (10, 10, 1)],
)
def test_a_pass_has_the_prompt_of_each_of_its_groups_once(rows, group_size, prompts):
    assert WORK.distinct_tokens(rows, group_size) == 80 + prompts * 4


def test_only_the_update_splits_a_group(paper, plan):
    parts = tiny_step(paper, plan, micro_batch_sequences=1)
    assert parts["reference"] == tiny_step(paper, plan)["reference"]
    assert parts["update"] == pytest.approx(4 * 2 * (120 * 168 + 120 * 96) / 1e6 + 4 * HEAD)


def test_a_group_on_several_processes_has_a_pass_for_its_old_log_probs(paper, plan):
    assert tiny_step(paper, plan, gpus=5)["old log-probs"] == 0
    split = tiny_step(paper, plan, gpus=10, micro_batch_sequences=1)
    assert split["old log-probs"] == split["reference"] > 0


def test_one_micro_batch_has_one_pass_of_the_layers_for_statistics_and_update(paper, plan):
    whole = {"micro_batch_sequences": 10, "rollouts": None, "hardware": False}
    parts = tiny_step(paper, plan, **whole)
    assert parts["token statistics"] == pytest.approx(HEAD + VOCABULARY)
    # without checkpointing: forward and twice back
    layers = 2 * (100 * 168 + 120 * 96) / 1e6
    assert parts["update"] == pytest.approx(3 * layers + 4 * HEAD)
    for change in ({"micro_batch_sequences": 5}, {"passes": "dense"}, {"rollouts": paper.training.rollouts}):
        assert tiny_step(paper, plan, **whole | change)["token statistics"] > parts["token statistics"]


def test_without_a_kl_term_rollouts_of_no_advantage_are_left_out(paper, plan):
    update, bare = tiny_step(paper, plan)["update"], tiny_step(paper, plan, kl_coef=0.0)["update"]
    assert bare == pytest.approx(update * (1 - plan.assumptions.zero_advantage_share.value))
    dense = {"passes": "dense"}
    assert tiny_step(paper, plan, **dense, kl_coef=0.0)["update"] == tiny_step(paper, plan, **dense)["update"]


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
    workers = 4 * training.threads
    assert near["rewards"] == pytest.approx(1024 * plan.assumptions.grading_seconds.value / workers)
    micro_batches, groups = 1024 / (4 * 4), 1024 / (4 * 8)
    count = parameters(model.architecture, False)
    assert far["reference"] == pytest.approx(groups * count * 2 / 2)  # two ports of 1 byte/s a node
    assert far["reference"] > near["reference"]
    assert far["update"] == pytest.approx(micro_batches * count * (2 * 2 + 4) / 2)


def test_evaluation_counts_every_answer(paper, plan):
    work = evaluation_work(paper, "qwen2.5-7b", plan.assumptions)
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
