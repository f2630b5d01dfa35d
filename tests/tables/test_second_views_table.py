import pandas as pd
import table_frames as made

from ict_core.statistics._schemas import VIEWS
from ict_core.tables.views import views_table


def views(*rows):
    """A frame of schemas.VIEWS from (view, estimate, low, high, p, p_floor, coverage)."""
    key = ("tiny", "ict-10", "grpo", "pass@4")
    return pd.DataFrame([(*key, *row) for row in rows], columns=list(VIEWS))


NAN = made.NAN
ROWS = (
    ("sign-flip", 0.02, NAN, NAN, 0.5, 0.25, NAN),
    ("permutation", 0.02, NAN, NAN, 0.3, 0.1, NAN),
    ("welch", 0.02, -0.01, 0.05, 0.04, NAN, 0.962),
    ("crossed bootstrap", 0.02, 0.01, 0.03, NAN, NAN, 0.741),
    ("probability of improvement", 0.667, 0.5, 0.9, NAN, NAN, NAN),
    ("interquartile mean", 0.015, 0.0, 0.03, NAN, NAN, NAN),
)


def test_a_pair_by_hand():
    shown = views_table(views(*ROWS), made.settings()).shown
    assert shown.iloc[0].to_dict() == {
        "model": "tiny",
        "metric": "pass@4",
        "variant": "ict-10",
        "baseline": "grpo",
        "sign-flip p": "0.500 (≥0.250)",
        "permutation p": "0.300 (≥0.100)",
        "Welch interval (covers 96\u00a0%)": "+2.0 (−1.0 to +5.0)",
        "crossed bootstrap interval (covers 74\u00a0%)": "+2.0 (+1.0 to +3.0)",
        "probability of improvement": "0.67 (0.50 to 0.90)",
        "interquartile mean difference": "+1.5 (+0.0 to +3.0)",
    }


def test_coverages_that_differ_are_a_range():
    other = views(("welch", 0.0, -0.1, 0.1, 0.5, NAN, 0.953)).assign(metric="pass@1")
    shown = views_table(pd.concat([views(*ROWS), other]), made.settings()).shown
    assert shown["Welch interval (covers 95 to 96\u00a0%)"].tolist() == ["+0.0 (−10.0 to +10.0)", "+2.0 (−1.0 to +5.0)"]
    assert shown["sign-flip p"].tolist() == ["—", "0.500 (≥0.250)"]


def test_one_seed_has_estimates_only():
    rows = (("sign-flip", 0.02, NAN, NAN, NAN, 1.0, NAN), ("welch", 0.02, NAN, NAN, NAN, NAN, NAN))
    shown = views_table(views(*rows), made.settings()).shown
    assert shown[["sign-flip p", "Welch interval"]].to_numpy().tolist() == [["—", "+2.0 (—)"]]


def test_every_declared_contrast_of_the_study_is_a_row(study):
    table = views_table(study["views"], made.settings())
    assert len(table.shown) == 2 * len(made.DECLARED)
    assert table.shown["sign-flip p"].str.endswith("(≥0.250)").all()
    assert table.shown["permutation p"].str.endswith("(≥0.100)").all()
    assert (table.shown.drop(columns=["model", "metric", "variant", "baseline"]) != "—").all(axis=None)
    assert len(table.numbers) == len(study["views"])


def test_without_a_declared_contrast_the_caption_says_so():
    table = views_table(views(), made.settings())
    assert table.shown.empty and "No contrast was declared" in table.caption
