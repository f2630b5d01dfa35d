"""What a study says of its validity, and what its gates make of the ledger's verdicts."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_gates import BASES, GOOD, NOISE, VALIDITY, runs
from test_ledger import claim, difference

from ict_core.evidence.claims import Measure
from ict_core.evidence.gates import failed, gates
from ict_core.evidence.ledger import LedgerFrames, ledger
from ict_core.evidence.stored import Stored
from ict_core.evidence.validity import validity_frame
from ict_core.statistics.arms import run_frame
from ict_core.statistics.deciding import NOT_TESTABLE, NOT_TESTED, SUPPORTED, detectable
from ict_core.store import records
from ict_core.store.layout import REPOSITORY, StudyFiles
from ict_core.store.manifests import read_manifest, write_manifest

ICT = {"ict-10": BASES + 0.25 + NOISE[::-1]}
BAD = GOOD | ICT | {"random-10": BASES + 0.1 + NOISE[::-1] / 2}
TOKENS = Measure(kind="measure", quantity="fork_recall", of="ict-10", direction="higher")
ENTROPY = Measure(kind="measure", quantity="h1_change", of="ict-10", direction="higher")
CLAIMS = [claim(test, name) for name, test in (("gain", difference()), ("tokens", TOKENS), ("entropy", ENTROPY))]


def frames(arms):
    """The frames of a ledger of two models of which the second's gates are never measured."""
    both = pd.concat([runs(arms), runs({name: arms[name] for name in ("base", "grpo", "ict-10")}, "other")])
    quantities = [
        (model, "ict-10", seed, name, 0.5 + NOISE[seed])
        for model in ("m", "other")
        for name in ("fork_recall", "h1_change")
        for seed in range(6)
    ]
    table = pd.DataFrame(quantities, columns=["model", "variant", "seed", "quantity", "value"])
    return LedgerFrames(both, table, {}, failed(gates(VALIDITY, both, 0.02)))


def test_claims_on_trainings_are_not_testable_where_a_gate_failed_and_claims_on_tokens_are():
    passed, gated = ({e.claim.id: e for e in ledger(CLAIMS, frames(arms), 0.02, 0.8)} for arms in (GOOD | ICT, BAD))
    assert {name: entry.verdict for name, entry in passed.items()} == dict.fromkeys(passed, SUPPORTED)
    assert [gated[name].verdict for name in ("gain", "tokens", "entropy")] == [NOT_TESTABLE, SUPPORTED, NOT_TESTABLE]
    assert gated["gain"].remark == "failed gates of m: kept"
    for name in passed:  # every number stays
        assert gated[name].outcome == passed[name].outcome and gated[name].p_adjusted == passed[name].p_adjusted


def test_a_claim_on_a_model_whose_gates_did_not_fail_keeps_its_verdict():
    whole = frames(BAD)
    other = replace(whole, runs=whole.runs[(whole.runs["model"] == "other") | (whole.runs["variant"] != "ict-10")])
    assert ledger(CLAIMS[:1], other, 0.02, 0.8)[0].verdict == SUPPORTED


def test_a_claim_on_benchmarks_without_headroom_says_so():
    outside = replace(frames(GOOD | ICT), mirrors={}, outside=("MMLU-STEM", "GPQA"))
    entry = ledger([claim(difference(benchmarks=("GPQA",)))], outside, 0.02, 0.8)[0]
    assert entry.verdict == NOT_TESTED and "no headroom" in entry.remark


@pytest.mark.parametrize("outside", [("MMLU-STEM",), ()], ids=["without headroom", "not in the study"])
def test_a_claim_on_two_sets_of_which_one_counts_names_the_other(outside):
    one = replace(frames(GOOD | ICT), mirrors={"mini-word": "GPQA"}, outside=outside)
    entry = ledger([claim(difference(benchmarks=("MMLU-STEM", "GPQA")))], one, 0.02, 0.8)[0]
    assert entry.verdict != NOT_TESTED and "without MMLU-STEM" in entry.remark


@pytest.fixture(scope="module")
def gated(tmp_path_factory):
    """The stored default study, as if it had declared another oracle and control."""
    folder = shutil.copytree(REPOSITORY / "results/reference/mini", tmp_path_factory.mktemp("gated") / "mini")
    settings = read_manifest(StudyFiles(folder).settings)
    declared = VALIDITY.changed(oracle="entropy-20", oracle_control="random-10", headroom_points=5.0)
    settings["evidence"]["validity"] = declared.dump()
    write_manifest(StudyFiles(folder).settings, settings)
    return folder


@pytest.fixture(scope="module")
def stored(gated):
    return Stored(gated)


def of_runs(frame):
    return LedgerFrames(frame, pd.DataFrame(columns=["model", "variant", "seed", "quantity", "value"]), {})


@pytest.fixture(scope="module")
def made(stored):
    """Its frame of validity on one model, with two claims that were tested."""
    of = run_frame(stored.frame("scores").query("model == 'mini-s'"), averaged=stored.averaged)
    tested = [claim(difference(), "a"), claim(difference(against=("entropy-20",)), "b"), claim(TOKENS, "c")]
    frames = of_runs(of)
    return validity_frame(stored, frames, ledger(tested, frames, 0.02, 0.8), None), of


def test_headroom_is_that_of_the_base_models_and_decides_what_the_average_is_over(stored, made):
    scores = stored.frame("scores").query("variant == 'base' and model == 'mini-s'")
    wrong = (scores["n"] - scores["correct"]).to_numpy()
    none_right = np.prod([np.clip(wrong - i, 0, None) / (scores["n"].to_numpy() - i) for i in range(4)], axis=0)
    levels = scores.assign(value=1 - none_right).groupby("benchmark")["value"].mean()  # as many problems a base
    rows = made[0].query("gate == 'headroom'").set_index("of")
    assert len(rows) == 14
    for benchmark, level in levels.items():
        row = rows.loc[f"{benchmark}, pass@4 of base"]
        assert row["value"] == pytest.approx(level) and row["seeds"] == 6
        assert row["outcome"] == ("in the average" if level <= 0.95 else "outside of the average")
    assert set(levels[levels > 0.95].index) == {"mini-stem"} == set(stored.settings.mirrors) - set(stored.averaged)
    assert "no headroom: mini-stem." in stored.note


@pytest.mark.parametrize(("base", "more"), [(0.0, ""), (1.0, "; gains at no rate")])  # below, above all rewards
def test_arms_at_the_edge_of_the_rates_that_they_tried_are_named(gated, stored, tmp_path, base, more):
    assert stored.frame("tuning").query("chosen")["rate"].min() > 0
    folder = shutil.copytree(gated, tmp_path / "mini")
    tuning = records.read_frame(StudyFiles(folder).frame("tuning"), records.TUNING)
    ict = (tuning["variant"] == "ict-10") & (tuning["model"] == "mini-s")
    tuning = tuning[~ict | tuning["chosen"] | (tuning["rate"] > 6e-4) | (tuning["rate"] == 0)]
    tuning.loc[ict & (tuning["rate"] == 0), "reward"] = base
    records.write_frame(tuning.reset_index(drop=True), StudyFiles(folder).frame("tuning"), records.TUNING)
    frame = validity_frame(
        Stored(folder), of_runs(run_frame(stored.frame("scores"), averaged=stored.averaged)), [], None
    )
    rows = frame.query("gate == 'rate'")[["model", "of", "value", "outcome"]].to_numpy().tolist()
    assert rows == [["mini-s", "learning rate of ict-10", 4.7e-4, f"the lowest tried{more}"]]


def test_the_smallest_difference_found_is_that_of_the_family_after_its_correction(made):
    frame, of = made
    assert frame.query("gate == 'rate'").empty  # all rates lie inside the grid
    values = of.query("benchmark == 'average' and metric == 'pass@4'").set_index(["variant", "seed"])["value"]
    gaps = [values["ict-10"] - values[other] for other in ("grpo", "entropy-20")]
    sizes = [float(detectable(gap.std(), 6, 0.8, 0.05 / 2)) for gap in gaps]
    row = frame.query("gate == 'detectable'").iloc[0]
    assert row["of"].endswith("family f") and len(frame.query("gate == 'detectable'")) == 1
    assert list(row[["value", "low", "high"]]) == pytest.approx([np.mean(sizes), min(sizes), max(sizes)])


@pytest.mark.parametrize(
    ("record", "outcome", "because"),
    [
        (None, "not known", "the manifest does not record it"),
        ({"commit": "a" * 40, "files": {"s.yaml": {}}, "after": []}, "before the runs", "manifest.json"),
        ({"files": {"s.yaml": {}}, "after": [], "changed": "c.yaml"}, "before the runs", "c.yaml has changed since"),
        ({"commit": "a" * 40, "files": {"s.yaml": {}}, "after": ["s.yaml"]}, "declared after the runs", "s.yaml"),
        ({"commit": "a" * 40, "files": {"s.yaml": {}}, "after": None}, "not known", "a run's commit"),
    ],
)
def test_when_it_was_declared_is_the_first_row(stored, made, record, outcome, because):
    row = validity_frame(stored, of_runs(made[1]), [], record).iloc[0]
    assert (row["gate"], row["outcome"]) == ("declared", outcome) and because in row["because"]


def test_a_study_without_gates_has_an_empty_frame():
    study = Stored(REPOSITORY / "results/reference/mini-ablations")
    assert study.settings.validity is None
    assert validity_frame(study, of_runs(run_frame(study.frame("scores"))), [], None).empty
    assert study.averaged == list(study.settings.mirrors) and study.outside == ""
