import pandas as pd
import pytest
import table_frames as made

from ict_core.tables.compute import compute_numbers, compute_table

CELLS = [("small", "grpo", 2), ("small", "grpo", 0), ("small", "base", 0), ("tiny", "grpo", 0)]
COMPUTE = made.compute(CELLS)
MODELS = pd.DataFrame({"model": ["tiny", "small"]})


def test_cells_in_order_with_their_rate():
    numbers = compute_numbers(COMPUTE, ["tiny", "small"], ["grpo"])
    order = numbers[["model", "variant", "seed", "stage"]].to_numpy().tolist()
    assert order == [
        ["tiny", "grpo", 0, "train"],
        ["tiny", "grpo", 0, "generate"],
        ["small", "base", 0, "pretrain"],
        ["small", "base", 0, "generate"],
        ["small", "grpo", 0, "train"],
        ["small", "grpo", 2, "train"],
        ["small", "grpo", 0, "generate"],
        ["small", "grpo", 2, "generate"],
    ]
    assert numbers["tokens_per_second"].tolist()[4:6] == [500.0, 1500.0]


def test_runs_are_a_mean_with_a_range():
    shown = compute_table(COMPUTE, MODELS, made.settings(["grpo"])).shown
    row = shown[(shown["model"] == "small") & (shown["stage"] == "train")].iloc[0]
    assert row["runs"] == "2" and row["tokens"] == "2,000 (1,000 to 3,000)" and row["seconds"] == "2.0"
    assert row["tokens a second"] == "1,000 (500 to 1,500)" and row["peak GPU memory, MiB"] == "—"


def test_the_caption_adds_everything_up():
    caption = compute_table(pd.concat([COMPUTE] * 1000), MODELS, made.settings(["grpo"])).caption
    assert "All 8000 jobs together: 4.44 hours, 12.0 million tokens." in caption


@pytest.mark.parametrize(
    ("stage", "said"), [("pretrain", "base model is pretrained once"), ("fetch", "base model is fetched once")]
)
def test_the_caption_says_where_the_base_model_comes_from(stage, said):
    compute = COMPUTE.assign(stage=COMPUTE["stage"].replace("pretrain", stage))
    assert stage in set(compute_numbers(compute, ["tiny", "small"], ["grpo"])["stage"])
    assert said in compute_table(compute, MODELS, made.settings(["grpo"])).caption


@pytest.mark.parametrize(
    ("changed", "known"), [({"seconds": 0.0}, False), ({"seconds": 1e-300}, True), ({"tokens": 0}, False)]
)
def test_no_rate_without_time_or_without_a_token(changed, known):
    numbers = compute_numbers(COMPUTE.assign(**changed), ["tiny", "small"], ["grpo"])
    assert numbers["tokens_per_second"].notna().all() == numbers["tokens_per_second"].notna().any() == known
