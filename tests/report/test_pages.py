"""The pages: Markdown to HTML, the overview, the claims."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from ict_core.config.study_file import Primary, Validity
from ict_core.errors import Damaged
from ict_core.evidence.stored import ArmVariation, Settings
from ict_core.report.answer import answer, in_words, main_figure
from ict_core.report.build import overview
from ict_core.report.claims import estimate_text, stored_claims
from ict_core.report.page import folded, page
from ict_core.statistics.deciding import NOT_TESTABLE
from ict_core.statistics.design import Design
from ict_core.statistics.schemas import GAIN, STATISTICS, VALIDITY
from ict_core.store.records import COMPUTE, TUNING

NOTE = "A study in miniature."
SHARE = {"unit": "share", "estimate": -0.1734, "low": -0.27, "high": 0.076}
CLAIM = {
    "id": "gain",
    "statement": "A gain.",
    "source": "the paper",
    "paper": "+4.58",
    "test": "ict-10 − grpo, pass@4, average: higher than 0",
    "verdict": "not resolved",
    "remark": "",
    **SHARE,
    "by_model": {"tiny": -0.1734},
    "models": ["tiny"],
    "seeds": 3,
    "p": 0.0312,
    "p_adjusted": 0.4,
    "seeds_needed": 41.0,
    "seeds_needed_seen": 5.0,
    "detectable": None,
    "family": "baselines",
}
PLATFORM = {"cpu": "a cpu", "cores": 2, "gpus": []}
MANIFEST = {
    "environments": [{"packages": {"torch": "2.0", "unknown": "1"}, "python": "3.11.1", "platform": PLATFORM}],
    "processes": [{"numerics": {"chosen": "portable"}}],
    "sources": [{"commit": "c" * 40, "dirty": False}],
    "loaded": [{"a.py": "1"}],
    "jobs": [{"stage": "train", "tokens": 1234567, "environment": 0, "process": 0}],
}
WHOLE = {
    "scale": "mini",
    "models": {"tiny": {"kind": "pretrained-from-scratch"}},
    "methods": {"grpo": {"selector": "grpo", "normaliser": "response"}},
    "benchmarks": [{"name": "mini-word", "mirrors": "GSM8K", "problems": 40}],
    "training": {"steps": 32, "learning_rate": 3e-4},
    "evaluation": {"samples": 8, "samples_of": None},
    "evidence": {"margin_points": 2.0, "power": 0.8},
    "grid": [{"models": ["tiny"], "methods": ["grpo"], "seeds": [0, 1, 2]}],
}


CONTRASTS = STATISTICS["contrasts"]
NO_GATES = pd.DataFrame(columns=list(VALIDITY))
UNTUNED = pd.DataFrame(columns=list(TUNING))


def settings(**changes) -> Settings:
    whole = WHOLE | changes
    arms = {
        "kl-10": ArmVariation("ict-10", "score", (("method.score", "js", "kl"),), 50),
        "g4": ArmVariation("grpo", "group_size", (("method.group_size", None, 4), ("training.group_size", 8, 4)), 49),
        "ict-10": ArmVariation("grpo", None, (("method.selector", "grpo", "top-score"),), 44),
    }
    mirrors, design = {"mini-word": "GSM8K"}, Design.of(whole)
    return Settings("mini", NOTE, ("grpo",), ("grpo",), ("grpo",), mirrors, 0.02, 0.8, arms, design, whole)


def compute() -> pd.DataFrame:
    row = ("tiny", "grpo", 1, "train", 1234567, 7200.0, 812.3, float("nan"))
    return pd.DataFrame([row], columns=list(COMPUTE))


def test_html_in_a_text_is_shown_and_not_run():
    text = page("a <b>", "# T\n\n<script>alert(1)</script> `x<y`\n\n| a | b |\n| --- | --: |\n| 1 | 2 |\n")
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert "<title>a &lt;b&gt;</title>" in text and "<code>x&lt;y</code>" in text
    assert '<td style="text-align:right" data-head="b">2</td>' in text
    assert "http" not in text.replace("http-equiv", "")  # nothing is fetched


def test_the_overview_says_what_was_run_and_counts_the_verdicts():
    text = overview(
        settings(), [CLAIM, CLAIM | {"verdict": "supported"}], compute(), MANIFEST, "The answer.\n", "The caption."
    )
    assert text.startswith("# mini\n\nThe answer.\n")
    for words in (
        "| tiny | grpo | 0, 1, 2 |",
        "1 training runs of 32 optimiser steps on 1,234,567 generated tokens",
        "mini-word (40, for GSM8K)",
        "2.00 hours",
        "cccccccccccc",
        "Of 2 claims and questions: 1 not resolved, 1 supported.",
        "| A gain. | +4.58 | −17.3\u00a0[−27.0,\u00a0+7.6] | **not resolved** |",
        "within ±2 points",
        "| kl-10 | ict-10 | score | method.score: js → kl | 50 |",
        "| g4 | grpo | group_size | method.group_size: none → 4; training.group_size: 8 → 4 | 49 |",
        "| ict-10 | grpo | — | method.selector: grpo → top-score | 44 |",
        "| training.learning_rate | 0.0003 |",
        "| methods/grpo | selector grpo, normaliser response |",
    ):
        assert words in text, words
    assert "Mixed study" not in text
    mixed = MANIFEST | {"loaded": [{"a.py": "1"}, {"a.py": "2"}]}
    other = overview(settings(scale="paper"), [CLAIM], compute(), mixed, "", "")
    assert "miniature.**" not in other and "different code (a.py)" in other


@pytest.mark.parametrize("content", [b"{", b"7", b"{}", b'{"claims": 7}'])
def test_a_damaged_ledger_is_told(content, tmp_path):
    (tmp_path / "claims.json").write_bytes(content)
    with pytest.raises(Damaged, match=r"claims\.json: not "):
        stored_claims(tmp_path / "claims.json", "")


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (SHARE, "−17.3\u00a0[−27.0,\u00a0+7.6]"),
        (SHARE | {"low": None, "high": None}, "−17.3"),
        (SHARE | {"estimate": None}, "—"),
        (SHARE | {"estimate": -1e-17, "low": None}, "+0.0"),
        (
            {"unit": "share of the tokens", "estimate": 0.8249, "low": 0.7, "high": 0.9},
            "0.825\u00a0[0.700,\u00a00.900] share of the tokens",
        ),
    ],
)
def test_an_estimate_is_printed_with_its_interval_and_unit(claim, expected):
    assert estimate_text(claim) == expected


def test_a_folded_part_is_closed_in_html_and_its_text_is_still_harmless():
    text = page("t", folded("Two <b>more</b>", "<script>alert(1)</script>\n\n| a |\n| --- |\n| 1 |\n"))
    assert "<details><summary>Two &lt;b&gt;more&lt;/b&gt;</summary>" in text and "</details>" in text
    assert "<script>" not in text and '<td data-head="a">1</td>' in text


def test_an_image_is_shown_where_it_is_given_and_no_other():
    markdown = "![Forest](figures/forest.png)\n\n![x](http://else/where.png)\n"
    text = page("t", markdown, {"figures/forest.png": b"png"})
    assert '<p><img alt="Forest" src="data:image/png;base64,cG5n"></p>' in text
    assert text.count("<img") == 1 and "![x](http://else/where.png)" in text


@pytest.mark.parametrize(
    ("kinds", "scope"),
    [
        (["package"], "One real model, 2 training runs. "),
        (["hub", "local"], "2 real models, 2 training runs. "),
        (["pretrained-from-scratch"], ""),
    ],
)
def test_a_study_of_models_from_elsewhere_says_how_many_models_and_runs_it_speaks_of(kinds, scope):
    grid = [{"models": ["m"], "methods": ["grpo"], "seeds": [0, 1]}]
    told = settings(grid=grid, models={name: {"kind": kind} for name, kind in zip("mn", kinds, strict=False)})
    assert told.scope.startswith(scope) and bool(told.scope) == bool(scope)


@pytest.mark.parametrize(
    ("seeds", "kind", "told"), [([0, 1], "scratch", False), ([0], "scratch", True), ([0], "hub", False)]
)
def test_a_study_says_that_levels_over_different_base_models_are_not_to_be_compared(seeds, kind, told):
    grid = [
        {"models": ["m"], "methods": ["grpo"], "seeds": [0, 1]},
        {"models": ["m"], "methods": ["psr"], "seeds": seeds},
    ]
    made = settings(grid=grid, models={"m": {"kind": "pretrained-from-scratch" if kind == "scratch" else kind}})
    assert bool(made.unequal_seeds) == told


KEY = {"model": "tiny", "benchmark": "average"}


def levels(**means):
    """A frame of levels from a mean a variant; the untrained model's is 0.2, an interval reaches 0.1 to both sides."""
    rows = []
    for variant, mean in {"base": 0.2, **means}.items():
        gains = [mean - 0.2 + reach if variant != "base" else math.nan for reach in (0, -0.05, 0.05)]
        limits = {"mean": mean, "low": mean - 0.1, "high": mean + 0.1} | dict(zip(GAIN, gains, strict=True))
        rows += [KEY | {"variant": variant, "metric": metric} | limits for metric in ("pass@1", "pass@4", "total")]
    return pd.DataFrame(rows)


def contrasts(*variants):
    """A frame of contrasts on pass@4, each variant found worse than grpo by 20 points."""
    found = {"difference": -0.2, "low": -0.3, "high": -0.1, "two_way_low": 0.0, "two_way_high": 0.0, "detectable": 0.05}
    found |= {"baseline": "grpo", "metric": "pass@4", "verdict": "worse"}
    rows = [dict.fromkeys(CONTRASTS, math.nan) | KEY | found | {"variant": variant} for variant in variants]
    return pd.DataFrame(rows, columns=list(CONTRASTS))


def test_the_answer_is_the_first_tested_claim_and_a_row_a_method():
    untested = CLAIM | {"statement": "Untested.", "seeds": 0}
    study = replace(settings(), variants=("grpo", "ict-10"))
    tried = [("tiny", "ict-10", rate, 900, 0.1, rate == 1e-4) for rate in (1e-4, 3e-4)]
    tuning = pd.DataFrame([*tried, *(("tiny", "grpo", *row[2:]) for row in tried)], columns=list(TUNING))
    told = [untested, CLAIM | {"verdict": "contradicted"}]
    frames = (levels(grpo=0.5, **{"ict-10": 0.3}), contrasts("ict-10"), tuning, NO_GATES)
    lines = answer(study, told, *frames, ["mini-word"]).splitlines()
    assert any(line.startswith("On `mini-word`") for line in lines)
    assert "gates" in lines[0]
    assert lines[2].startswith("**A gain.** Here: **contradicted**, −17.3")
    assert lines[2].endswith("the paper has +4.58.")
    assert [line for line in lines if line.startswith("| tiny")] == [
        "| tiny | `base` | 20.0 ± 10.0 | 20.0 ± 10.0 | — | — | — |",
        "| tiny | `grpo` | 50.0 ± 10.0 | 50.0 ± 10.0 | +30.0 ± 5.0 | — | — |",
        "| tiny | `ict-10` | 30.0 ± 10.0 | 30.0 ± 10.0 | +10.0 ± 5.0 | −20.0 ± 10.0 | worse, 20.0 points, found |",
    ]
    assert lines[-1].endswith(": `ict-10` (tiny), `grpo` (tiny).")


def test_a_study_s_own_question_comes_first_in_its_own_metric():
    primary = Primary(metric="pass@1", comparisons=(("ict-10", "grpo"), ("ict-10", "random-10")))
    study = replace(settings(), variants=("grpo", "ict-10"), primary=primary)
    own = {"family": "primary", "paper": None}
    second = {"statement": "A loss.", "verdict": "supported", "remark": ""}
    claims = [CLAIM | own | {"remark": "none seen"}, CLAIM | own | second, CLAIM]
    found = contrasts("ict-10").assign(metric="pass@1")
    frames = (levels(grpo=0.5, **{"ict-10": 0.3}), found, UNTUNED, NO_GATES, ["mini-word"])
    lines = answer(study, claims, *frames).splitlines()
    bullets = [line for line in lines if line.startswith("* ")]
    assert [line[:29] for line in bullets] == ["* **A gain.** Here: **not res", "* **A loss.** Here: **support"]
    assert bullets[0].endswith("(none seen)") and bullets[1].endswith("points.")
    (row,) = (line for line in lines if "`ict-10`" in line)
    assert "| −20.0 ± 10.0 | worse" in row and any("| Δ pass@1 |" in line for line in lines)


def test_differences_over_other_numbers_of_seeds_show_theirs():
    study = replace(settings(), variants=("grpo", "ict-10", "stapo"))
    frames = (levels(grpo=0.5, stapo=0.5, **{"ict-10": 0.3}), contrasts("ict-10", "stapo").assign(seeds=[8, 2]))
    lines = answer(study, [CLAIM], *frames, UNTUNED, NO_GATES, ["mini-word"]).splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| tiny")}
    assert ["(n = " in rows[name] for name in ("grpo", "ict-10", "stapo")] == [False, True, True]
    assert "± 10.0 (n = 2) |" in rows["stapo"] and any("2 or 8 training seeds (n)" in line for line in lines)


def test_a_tie_in_one_metric_is_not_called_identical_runs():
    assert in_words({"verdict": "identical", "difference": 0.0}, 0.02).startswith("no difference")


NAN = math.nan
AFTER = ("declared after the runs", "changed later: s.yaml")
GATES = pd.DataFrame(
    [
        ("declared", "all", "s.yaml", "", NAN, NAN, NAN, NAN, 0, "", *AFTER),
        ("gain", "tiny", "grpo − base, pass@1", "", 0.2, 0.15, 0.25, NAN, 6, "at least 15 points", "passed", ""),
        ("oracle", "tiny", "o − p, pass@4", "", 0.01, -0.02, 0.04, 0.3, 6, "above 0", "failed", "it cannot"),
        ("replica", "", "r − grpo, pass@4", "", NAN, NAN, NAN, NAN, 0, "within", "not measured", "without r"),
    ],
    columns=list(VALIDITY),
)


def test_the_first_line_says_that_the_study_cannot_tell_and_why():
    arms = {"baseline": "grpo", "replica": "r", "random": "random-10", "oracle": "o", "oracle_control": "p"}
    validity = Validity.model_construct(**arms)
    study = replace(settings(), variants=("grpo", "random-10", "ict-10"), validity=validity)
    claims = [CLAIM | {"verdict": NOT_TESTABLE}]
    frames = (levels(grpo=0.5, **{"random-10": 0.5, "ict-10": 0.5}), contrasts("random-10", "ict-10"), UNTUNED, GATES)
    lines = answer(study, claims, *frames, ["mini-word"]).splitlines()
    assert lines[0].startswith(
        "**This study cannot tell, because** it cannot (o − p, pass@4 on tiny: 1.0 [−2.0 to 4.0];"
    )
    assert "not measured: replica (without r)" in lines[0].lower() and "declared after the runs" in lines[0].lower()
    assert [line for line in lines if line.startswith(("| gain", "| replica"))] == [
        "| gain | tiny | grpo − base, pass@1 | 20.0 [15.0 to 25.0] | at least 15 points | passed |",
        "| replica | — | r − grpo, pass@4 | — | within | not measured |",
    ]
    against = {line.split("|")[2].strip(): line.split("|")[-2].strip() for line in lines if line.startswith("| tiny")}
    assert against["`ict-10`"] == NOT_TESTABLE and against["`random-10`"].startswith("worse")  # a gate's own arm
    assert f"Here: **{NOT_TESTABLE}**" in "\n".join(lines)


def test_a_bench_is_answered_by_the_count_of_what_was_found_without_its_controls():
    arms = {
        "stare": ArmVariation("grpo", None, (), 9),
        "nsr": ArmVariation("grpo", None, (), 9),
        "stare-permuted": ArmVariation("stare", "control", (("method.control", "—", "permuted-group"),), 9),
    }
    study = replace(settings(), variants=("grpo", *arms), arms=arms)

    def seen(estimate, detectable):
        return {"estimate": estimate, "detectable": detectable}

    better = {"verdict": "supported", "statement": "`stare-over-all` raises the average pass@4 over `grpo`."}
    over, controls = {"family": "rules-over-the-baseline"}, {"family": "rules-over-their-controls"}
    claims = [
        CLAIM | over | {"id": "stare-over-all-over-grpo", "p_adjusted": 0.01} | better | seen(0.1, 0.03),
        CLAIM | over | {"id": "nsr-over-grpo", "verdict": "contradicted", "p_adjusted": 0.01} | seen(-0.1, 0.05),
        CLAIM | controls | {"id": "stare-over-it", "verdict": "contradicted", "estimate": -0.001, "p_adjusted": 0.9},
    ]
    frames = (levels(grpo=0.5, stare=0.5, nsr=0.5, **{"stare-permuted": 0.5}), contrasts(), UNTUNED, NO_GATES, [])
    text = answer(study, claims, *frames)
    told = answer(study, [claim | {"verdict": NOT_TESTABLE} for claim in claims], *frames)
    assert ", 2 not testable here" in told
    first, second = text.splitlines()[2].split("**1 comparisons")
    assert first.startswith("**2 rules against `grpo`: 1 found better (`stare-over-all`), 1 found worse.**")
    assert "is 4.0 points in the median (3.0 to 5.0, " in first and "0 found better, 0 found worse" in second
    assert "`nsr`" in text and "stare-permuted" not in text and main_figure(study) == "bench"
    assert main_figure(settings()) == "forest"
