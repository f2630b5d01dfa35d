"""The batch as a factor: which arms are held against which, and the part of a gain that is kept by hand."""

import numpy as np
import pandas as pd
import pytest
from fieller import inverted
from test_gates import BASES, NOISE, runs

from ict_core.config import load_study
from ict_core.evidence import Stored, batch_frame, batches_of
from ict_core.store import REPOSITORY, StudyFiles, write_manifest

GRPO, SMALL = BASES + 0.4 + NOISE, BASES + 0.1 + NOISE / 2
ARMS = {
    "base": BASES,
    "grpo": GRPO,
    "ict-10": BASES + 0.2 - NOISE,
    "grpo-8x48": SMALL,
    "ict-10-8x48": BASES + 0.02 + NOISE[::-1],
}
LOG = pd.DataFrame(
    [
        ("m", variant, seed, step, step > 1, share, tokens)
        for variant, share, tokens in (
            ("grpo", 1, 800),
            ("ict-10", 0.1, 800),
            ("grpo-8x48", 1, 200),
            ("ict-10-8x48", 0.1, 200),
        )
        for seed in range(6)
        for step in (1, 2, 3)
    ],
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


@pytest.mark.parametrize("study", ["mini", "mini-ablations"])  # these vary group sizes and other things, no batch
def test_a_study_that_varies_no_batch_has_no_rows(settings_of, study):
    settings = settings_of(study)
    assert not list(batches_of(settings)) and batch_frame(settings, runs(ARMS), LOG).empty


def test_the_part_kept_is_the_ratio_of_the_gains_over_the_base_model(settings_of):
    frame = batch_frame(settings_of("mini-batch"), runs(ARMS), LOG).set_index(["variant", "metric"])
    small, own = frame.loc[("ict-10-8x48", "pass@1")], frame.loc[("ict-10", "pass@1")]
    gain, theirs = ARMS["ict-10-8x48"] - BASES, SMALL - BASES
    assert small["kept"] == pytest.approx(gain.mean() / theirs.mean()) and own["kept"] == pytest.approx(
        (ARMS["ict-10"] - BASES).mean() / (GRPO - BASES).mean()
    )
    assert (small["kept_low"], small["kept_high"]) == pytest.approx(inverted(gain, theirs))
    assert (small["gain"], small["tokens"], small["seeds"]) == (pytest.approx(gain.mean()), 20, 6)
    assert frame.loc[("grpo", "pass@4"), "kept"] == pytest.approx(1) and np.isnan(
        frame.loc[("grpo", "pass@4"), "kept_low"]
    )
