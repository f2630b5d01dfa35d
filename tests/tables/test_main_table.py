import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics.intervals import t_interval
from ict_core.statistics.runs import AVERAGE, run_frame
from ict_core.tables.contrasts import contrasts
from ict_core.tables.main import COLUMNS, main_numbers, main_table

BENCHMARKS = [*synthetic.BENCHMARKS, AVERAGE]


@pytest.fixture(scope="module")
def runs():
    return run_frame(synthetic.scores(), (1, 4))


@pytest.fixture(scope="module")
def numbers(runs):
    return main_numbers(runs, synthetic.VARIANTS)


def test_holds_every_model_variant_benchmark_and_metric(numbers):
    assert list(numbers.columns) == COLUMNS
    assert len(numbers) == 2 * 9 * 8 * 2 and not numbers.duplicated(COLUMNS[:4]).any()
    assert numbers["variant"].unique().tolist() == ["base", *synthetic.VARIANTS]


def test_numbers_are_the_interval_over_seeds(runs, numbers):
    row = numbers.query("model == 'small' and variant == 'ict-10' and benchmark == 'average' and metric == 'pass@4'")
    cell = runs.query("model == 'small' and variant == 'ict-10' and benchmark == 'average' and k == 4")
    expected = t_interval(cell["pass_at_k"].to_numpy())
    assert row[["mean", "low", "high", "seeds"]].to_numpy()[0] == pytest.approx(
        [expected.mean, expected.low, expected.high, 3]
    )


def test_base_is_one_evaluation_without_an_interval(numbers, runs):
    base = numbers[numbers["variant"] == "base"]
    assert base[["low", "high"]].isna().all(axis=None) and (base["seeds"] == 1).all()
    shown = main_table(numbers, contrasts(runs, synthetic.VARIANTS, ["grpo"])).shown
    base_shown = shown[shown["variant"] == "base"]
    assert not base_shown[BENCHMARKS].apply(lambda c: c.str.contains("±")).any(axis=None)
    assert base_shown["seeds"].eq("—").all()


def test_shown_rows_and_columns_are_in_order(numbers, runs):
    shown = main_table(numbers, contrasts(runs, synthetic.VARIANTS, ["grpo"])).shown
    assert list(shown.columns) == ["model", "metric", "variant", "seeds", *BENCHMARKS]
    order = [(m, k, v) for m in synthetic.MODELS for k in ("pass@1", "pass@4") for v in ["base", *synthetic.VARIANTS]]
    assert list(shown[["model", "metric", "variant"]].itertuples(index=False, name=None)) == order


def test_marks_are_those_of_the_contrasts(numbers, runs):
    tests = contrasts(runs, synthetic.VARIANTS, ["grpo", "stapo"]).assign(verdict="not resolved")
    at = (tests["model"] == "tiny") & (tests["metric"] == "pass@1") & (tests["variant"] == "ict-10")
    tests.loc[at & (tests["baseline"] == "grpo"), "verdict"] = "higher"
    tests.loc[at & (tests["baseline"] == "stapo"), "verdict"] = "lower"
    table = main_table(numbers, tests)
    marked = table.shown[table.shown[AVERAGE].str.contains("⁺|⁻")]
    assert marked[["model", "metric", "variant"]].to_numpy().tolist() == [["tiny", "pass@1", "ict-10"]]
    assert marked[AVERAGE].item().endswith("ᵃ⁺ᵇ⁻")
    assert "ᵃ grpo, ᵇ stapo" in table.caption
    assert not table.shown.drop(columns=AVERAGE).apply(lambda c: c.str.contains("⁺|⁻")).any(axis=None)


def test_one_seed_has_no_interval_and_is_shown_as_such():
    runs = run_frame(synthetic.scores(["tiny"], ["grpo", "ict-10"], seeds=(1,), n=4), (1, 4))
    table = main_table(main_numbers(runs, ["grpo", "ict-10"]), contrasts(runs, ["grpo", "ict-10"], ["grpo"]))
    trained = table.shown[table.shown["variant"] != "base"]
    assert trained[BENCHMARKS].apply(lambda c: c.str.endswith("± —")).all(axis=None)
    assert "over 1 training seed " in table.caption


def test_a_variant_without_runs_is_named(runs):
    with pytest.raises(UserError, match="no run of kl-10"):
        main_numbers(runs, ["grpo", "kl-10"])


def test_a_benchmark_that_one_model_lacks_is_a_dash():
    scores = synthetic.scores(seeds=(1, 2))
    scores = scores[(scores["model"] == "tiny") | (scores["benchmark"] != "mini-stem")]
    runs = run_frame(scores, (1, 4))
    shown = main_table(main_numbers(runs, ["grpo"]), contrasts(runs, ["grpo"], [])).shown
    assert shown.loc[shown["model"] == "small", "mini-stem"].eq("—").all()
    assert list(shown.columns)[-1] == AVERAGE
