"""The choice of a learning rate, by hand."""

import math

import pandas as pd
import pytest

from ict_core.config.tuning import Tuning
from ict_core.errors import UserError
from ict_core.evidence import tuning
from ict_core.store import records


def test_rewards_are_of_the_last_quarter_of_the_steps_rounded_up_of_the_first_step_and_the_mean_over_seeds():
    log = pd.DataFrame({"step": [3, 0, 1, 2], "reward": [0.8, 0.1, 0.2, 0.4]})
    assert (tuning.last_reward(log), tuning.first_reward(log)) == (0.8, 0.1)
    five = pd.DataFrame({"step": range(5), "reward": [0.0, 0.0, 0.0, 0.2, 0.6]})
    assert tuning.last_reward(five) == pytest.approx(0.4)
    rewards = {"0.0001": {"900": 0.25, "901": 0.75}, "0.0003": {"900": 1.0, "901": 0.5}}
    assert tuning.mean_rewards(rewards) == {1e-4: 0.5, 3e-4: 0.75}
    ungraded = pd.DataFrame({"step": range(4), "reward": [0.1, 0.2, 0.3, math.nan]})
    assert tuning.last_reward(ungraded) is None  # as JSON has no NaN
    assert math.isnan(tuning.mean_rewards({"0.0001": {"900": None, "901": 0.5}})[1e-4])


@pytest.mark.parametrize(
    ("means", "chosen"),
    [
        ({1e-4: 0.1, 3e-4: 0.3, 9e-4: 0.2}, 3e-4),
        ({1e-4: 0.4, 3e-4: 0.3, 9e-4: 0.2}, 1e-4),
        ({1e-4: 0.3, 3e-4: 0.3, 9e-4: 0.3}, 3e-4),  # the nearest to the recipe's
        ({1e-4: 0.3, 3e-4: 0.2, 9e-4: 0.3}, 1e-4),  # as near: the lower
        ({3e-4: (0.3 + 0.2 + 0.1) / 3, 9e-4: (0.1 + 0.2 + 0.3) / 3}, 3e-4),  # both 0.2 but for rounding
        ({1e-4: math.nan, 3e-4: math.nan, 9e-4: 0.0}, 9e-4),  # what diverged is never chosen
    ],
)
def test_the_highest_reward_chooses(means, chosen):
    assert tuning.best_rate(means, 3e-4) == chosen
    with pytest.raises(UserError, match="at no rate"):
        tuning.best_rate({1e-4: math.nan, 3e-4: math.nan}, 3e-4)


def test_a_fifth_of_the_recipe_s_rate_is_as_near_as_five_times_it():
    assert tuning.best_rate({2e-6: 0.0, 5e-5: 0.0}, 1e-5) == 2e-6  # the logarithms differ in the last bit


@pytest.mark.parametrize(
    ("rewards", "chosen", "said"),  # a row a rate, of some seeds; the base model's first
    [
        (([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.3, 0.4, 0.5], [0.2, 0.3, 0.4]), 3e-4, ""),
        (([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]), 1e-4, "the lowest tried"),
        (([0.1, 0.2, 0.3], [0.1, 0.1, 0.1], [0.0, 0.0, 0.0], [0.2, 0.3, 0.4]), 9e-4, "the highest tried"),
        # the best is above its base by 0.1 on average, with a standard error of 0.1; then of a little less
        (([0.3, 0.3, 0.3], [0.0, 0.0, 0.0], [0.6, 0.3, 0.3], [0.0, 0.0, 0.0]), 3e-4, "gains at no rate"),
        (([0.3, 0.3, 0.3], [0.0, 0.0, 0.0], [0.6, 0.31, 0.3], [0.0, 0.0, 0.0]), 3e-4, ""),
        (([0.3, 0.3], [0.2, 0.2], [0.1, 0.1], [math.nan, 0.9]), 1e-4, "the lowest tried; gains at no rate"),
        (([0.2], [0.1], [0.1], [0.2]), 9e-4, "the highest tried; gains at no rate"),
        (([0.2], [0.1], [0.1], [0.21]), 9e-4, "the highest tried"),  # one seed has no standard error
    ],
)
def test_what_is_said_of_a_rate(rewards, chosen, said):
    rates = zip((0.0, 1e-4, 3e-4, 9e-4), rewards, strict=True)
    rows = [
        ("m", "a", rate, 900 + seed, reward, rate == chosen) for rate, of in rates for seed, reward in enumerate(of)
    ]
    frame = pd.DataFrame(rows, columns=list(records.TUNING))
    assert tuning.remarks(frame) == {("m", "a"): said}
    without = frame[frame["rate"] > 0]  # where the base model's reward was not recorded
    assert tuning.remarks(without) == {("m", "a"): said.split("gains")[0].rstrip("; ")}


GRID = Tuning(rates=(1e-4, 2e-4, 4e-4), seeds=(900, 901, 902, 903), extend=True, halving=True)


@pytest.mark.parametrize(
    ("of_rates", "asked"),
    [((0.3, 0.2, 0.1), (2.5e-5, 5e-5)), ((0.1, 0.3, 0.2), ()), ((0.1, math.nan, 0.2), (8e-4, 1.6e-3))],
)
def test_the_grid_goes_on_beyond_an_edge_that_is_the_best_alone(of_rates, asked):
    rewards = {f"{rate:g}": {"900": reward} for rate, reward in zip(GRID.rates, of_rates, strict=True)}
    assert tuning.further(GRID, rewards, 1, 2e-4) == [(rate, 900) for rate in asked]


@pytest.mark.parametrize(("best", "asked"), [(4e-4, (8e-4, 1.6e-3)), (2e-4, ()), (1e-4, ())])
def test_the_grid_goes_on_beyond_an_edge_that_is_the_best_of_all_seeds_if_nothing_was_tried_there(best, asked):
    rewards = {f"{rate:g}": dict.fromkeys(map(str, GRID.seeds), 0.5 * (rate == best)) for rate in GRID.rates}
    rewards |= {"5e-05": {"900": 0.1}, "2.5e-05": {"900": 0.1}}
    assert tuning.further(GRID, rewards, 4, 2e-4) == [(rate, seed) for rate in asked for seed in GRID.seeds]


def test_the_better_half_of_the_rates_takes_more_seeds_each_time_and_only_these_may_be_chosen():
    rewards = {"0.0001": {"900": 0.1}, "0.0002": {"900": 0.3}, "0.0004": {"900": 0.2}, "0.0008": {"900": math.nan}}
    assert tuning.further(GRID, rewards, 2, 2e-4) == [(2e-4, 901), (4e-4, 901)]  # that at 8e-4 diverged
    rewards["0.0002"]["901"], rewards["0.0004"]["901"] = 0.1, 0.5
    assert tuning.further(GRID, rewards, 3, 2e-4) == [(4e-4, 902), (4e-4, 903)]
    two = GRID.model_copy(update={"finalists": 2})  # then neither seed is tried with one rate alone
    assert tuning.further(two, rewards, 3, 2e-4) == [(r, seed) for r in (2e-4, 4e-4) for seed in (902, 903)]
    rewards["0.0004"] |= {"902": 0.2, "903": 0.3}
    assert tuning.mean_rewards(rewards) == {4e-4: pytest.approx(0.3)}
    assert tuning.best_rate(tuning.mean_rewards(rewards), 2e-4) == 4e-4
    tried = tuning.tried_in({"rewards": rewards})
    assert max(tried) == (8e-4, 900) and len(tried) == 8


def test_a_row_a_training(tmp_path):
    rewards = {"0.0001": {"900": 0.1, "901": 0.3}, "0.0003": {"900": 0.2, "901": 0.0}}
    job = {"model": "m", "variant": "grpo", "seed": 900, "stage": "tune", "rewards": rewards, "learning_rate": 1e-4}
    frame = tuning.tuning_frame([job | {"base_rewards": {"900": 0.0, "901": 0.1}}, {"stage": "train"}])
    assert frame.values.tolist() == [
        ["m", "grpo", 0.0, 900, 0.0, False],
        ["m", "grpo", 0.0, 901, 0.1, False],
        ["m", "grpo", 1e-4, 900, 0.1, True],
        ["m", "grpo", 1e-4, 901, 0.3, True],
        ["m", "grpo", 3e-4, 900, 0.2, False],
        ["m", "grpo", 3e-4, 901, 0.0, False],
    ]
    records.write_frame(tuning.tuning_frame([]), tmp_path / "none.parquet", records.TUNING)  # nothing was tuned


def test_the_base_model_s_reward_is_of_a_first_step_at_any_rate():
    """As on a GPU, the first steps at two rates differ; the rate tried last may be the lowest."""
    of = {1e-4: [0.25, 0.5], 5e-5: [0.125, 0.75]}
    logs = pd.concat(pd.DataFrame({"step": [0, 1], "reward": r, "rate": rate, "seed": 900}) for rate, r in of.items())
    choice = {"rewards": {"0.0001": {"900": 0.5}, "5e-05": {"900": 0.75}}, "learning_rate": 5e-5}
    for base, wrong in ((0.25, 0), (0.125, 0), (0.5, 1)):
        assert len(tuning.check_rewards(logs, choice | {"base_rewards": {"900": base}}, 1e-4)) == wrong
    other = choice | {"base_rewards": {"900": 0.25}, "rewards": {"0.0001": {"900": 0.5}, "5e-05": {"900": 0.875}}}
    (told,) = tuning.check_rewards(logs, other, 1e-4)
    assert "5e-05" in told
