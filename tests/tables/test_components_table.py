import pandas as pd
import table_frames as made

from ict_core.statistics import BASE_MODEL, RERUN, SOURCES_OF_VARIANCE
from ict_core.statistics._schemas import COMPONENTS
from ict_core.tables.components import components_table


def components(variant, parts, benchmark="average", metric="pass@1"):
    """A frame of schemas.COMPONENTS from (sd, contribution) of each source."""
    rows = [("tiny", variant, benchmark, metric, s, *p) for s, p in zip(SOURCES_OF_VARIANCE, parts, strict=True)]
    return pd.DataFrame(rows, columns=list(COMPONENTS))


ICT = components("ict-10", [(0.02, 0.0001), (0.3, 0.0002), (0.1, 0.0), (0.15, 0.0001)])
HEADS = ["seed", "problem", "seed × problem", "sampling", "level's error"]


def test_a_row_by_hand():
    shown = components_table(ICT, made.settings()).shown
    assert list(shown.columns) == ["model", "metric", "variant", *HEADS]
    assert shown[HEADS].iloc[0].tolist() == ["2.0 (25 %)", "30.0 (50 %)", "10.0 (0 %)", "15.0 (25 %)", "2.0"]


def test_a_source_that_cannot_be_told_is_a_dash():
    parts = [(0.02, 0.0001), (0.3, 0.0003), (0.1, 0.0), (made.NAN, made.NAN)]
    shown = components_table(components("ict-10", parts), made.settings()).shown
    assert shown[HEADS].iloc[0].tolist() == ["2.0 (25 %)", "30.0 (75 %)", "10.0 (0 %)", "—", "2.0"]
    nothing = components_table(components("ict-10", [(made.NAN, made.NAN)] * 4), made.settings()).shown
    assert nothing[HEADS].eq("—").all(axis=None)


def test_no_variance_at_all_has_no_parts():
    shown = components_table(components("ict-10", [(0.0, 0.0)] * 4), made.settings()).shown
    assert shown[HEADS].iloc[0].tolist() == ["0.0"] * 4 + ["—"]


def test_other_benchmarks_and_metrics_are_in_the_csv_alone():
    frames = [components("ict-10", [(0.1, 0.1)] * 4, metric="pass@2"), components("grpo", [(0.1, 0.1)] * 4), ICT]
    table = components_table(pd.concat([*frames, ICT.assign(benchmark="mini-word")]), made.settings())
    assert table.shown["variant"].tolist() == ["grpo", "ict-10"] and len(table.numbers) == 16


def test_without_several_runs_the_table_is_empty():
    assert components_table(ICT[:0], made.settings()).shown.empty


def test_a_rerun_has_a_column_of_its_own_and_no_part_in_the_sum():
    again = pd.DataFrame([("tiny", "ict-10", "average", "pass@1", RERUN, 0.01, 0.00004)], columns=list(COMPONENTS))
    other = components("grpo", [(0.02, 0.0001), (0.3, 0.0002), (0.1, 0.0), (0.15, 0.0001)])
    table = components_table(pd.concat([ICT, again, other]), made.settings())
    assert list(table.shown.columns[3:]) == [*HEADS[:4], RERUN, HEADS[4]]
    assert table.shown[HEADS].drop_duplicates().shape[0] == 1  # as without the rerun
    assert table.shown.set_index("variant")[RERUN].to_dict() == {"ict-10": "1.0 (10 %)", "grpo": "—"}
    assert "within the seed's" in table.caption and "Rerun" not in components_table(ICT, made.settings()).caption


def test_base_models_that_are_told_apart_have_the_first_column_and_a_part_of_the_sum():
    base = pd.DataFrame([("tiny", "ict-10", "average", "pass@1", BASE_MODEL, 0.04, 0.0004)], columns=list(COMPONENTS))
    table = components_table(pd.concat([ICT, base]), made.settings())
    assert list(table.shown.columns[3:]) == [BASE_MODEL, *HEADS]
    by_hand = ["4.0 (50 %)", "2.0 (12 %)", "30.0 (25 %)", "10.0 (0 %)", "15.0 (12 %)", "2.8"]  # of 0.0008
    assert table.shown.iloc[0, 3:].tolist() == by_hand
    assert "Base model: between" in table.caption
    assert "Base model: between" not in components_table(ICT, made.settings()).caption
