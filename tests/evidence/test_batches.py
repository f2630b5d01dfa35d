"""The batch as a factor: which arms are held against which, and the part of a gain that is kept by hand."""

import numpy as np
import pandas as pd
import pytest
from fieller import inverted
from test_gates import BASES, NOISE, runs

from ict_core.config.load import load_study
from ict_core.evidence.batches import batch_frame, batches_of
from ict_core.evidence.stored import Stored
from ict_core.statistics.intervals import over_runs, with_shared
from ict_core.store.layout import REPOSITORY, StudyFiles
from ict_core.store.manifests import write_manifest

GRPO, SMALL = BASES + 0.4 + NOISE, BASES + 0.1 + NOISE / 2
ARMS = {
    "base": BASES,
    "grpo": GRPO,
    "ict-10": BASES + 0.2 - NOISE,
    "grpo-8x48": SMALL,
    "ict-10-8x48": BASES + 0.02 + NOISE[::-1],
}
SIZES = {"grpo": (1, 800), "ict-10": (0.1, 800), "grpo-8x48": (1, 200), "ict-10-8x48": (0.1, 200)}
LOG = pd.DataFrame(
    [("m", arm, seed, step, step > 1, *size) for arm, size in SIZES.items() for seed in range(6) for step in (1, 2, 3)],
    columns=["model", "variant", "seed", "step", "selecting", "kept_share", "tokens"],
)


@pytest.fixture
def settings_of(tmp_path):
    def of(study):
        whole = load_study(REPOSITORY / f"configs/studies/{study}.yaml").stage_config("evidence")
        write_manifest(StudyFiles(tmp_path).settings, whole)
        return Stored(tmp_path).settings

    return of


def test_every_arm_is_held_against_the_baseline_with_the_same_prompts_and_steps(settings_of):
    found = {of.variant: of for of in batches_of(settings_of("mini-batch"))}
    assert len(found) == 4 * 7
    assert found["ict-10-16x96"] == ("ict-10", "ict-10-16x96", "grpo-16x96", 16, 96)
    assert found["ict-10"] == ("ict-10", "ict-10", "grpo", 32, 48) and found["grpo"].reference == "grpo"
    plain = settings_of("mini-ablations")  # which varies group sizes and other things, no batch
    assert not list(batches_of(plain)) and batch_frame(plain, runs(ARMS), LOG, {}).empty


def test_the_part_kept_is_the_ratio_of_the_gains_over_the_base_model(settings_of):
    frame = batch_frame(settings_of("mini-batch"), runs(ARMS), LOG, {}).set_index(["variant", "metric"])
    small, whole = frame.loc[("ict-10-8x48", "pass@1")], frame.loc[("grpo", "pass@4")]
    gain, theirs = ARMS["ict-10-8x48"] - BASES, SMALL - BASES
    assert small["kept"] == pytest.approx(gain.mean() / theirs.mean())
    assert (small["kept_low"], small["kept_high"]) == pytest.approx(inverted(gain, theirs))
    assert (small["gain"], small["tokens"], small["seeds"]) == (pytest.approx(gain.mean()), 20, 6)
    own = frame.loc[("ict-10", "pass@1"), "kept"]
    assert own == pytest.approx((ARMS["ict-10"] - BASES).mean() / (GRPO - BASES).mean())
    assert whole["kept"] == pytest.approx(1) and np.isnan(whole["kept_low"])


def test_an_error_that_all_gains_share_widens_them_and_what_is_kept(settings_of):
    shared = {("m", "average", "pass@1"): 0.01**2}  # one base model, sampled once
    alone, wide = (batch_frame(settings_of("mini-batch"), runs(ARMS), LOG, base) for base in ({}, shared))
    arm = (alone["variant"] == "ict-10-8x48") & (alone["metric"] == "pass@1")
    values = ARMS["ict-10-8x48"] - BASES
    found = wide[arm].iloc[0]
    narrow = with_shared(over_runs(values), 0.01**2).of_difference()
    assert (found["gain_low"], found["gain_high"]) == pytest.approx((float(narrow.low), float(narrow.high)))
    assert found["gain_high"] - found["gain_low"] > alone[arm].iloc[0]["gain_high"] - alone[arm].iloc[0]["gain_low"]
    assert found["kept_low"] < alone[arm].iloc[0]["kept_low"]
    pd.testing.assert_frame_equal(wide[wide["metric"] == "pass@4"], alone[alone["metric"] == "pass@4"])
