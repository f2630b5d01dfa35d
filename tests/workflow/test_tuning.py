"""A learning rate is chosen by the workflow, and what it is chosen for trains at it."""

import re

import pandas as pd
import pytest
from repository_copy import Copy

from ict_core.store import StudyFiles, TrainFiles, hash_weights, read_manifest, write_manifest

pytestmark = pytest.mark.slow

RESULTS = "results/tuned"
OWN, TWIN = f"{RESULTS}/mini-xs/ict-10/seed-0", f"{RESULTS}/mini-xs/ict-10@0.0003/seed-0"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> Copy:
    """A study that chooses a rate, run up to the training of one of its cells, from a base model that knows nothing."""
    copy = Copy(tmp_path_factory.mktemp("tuned"))
    model = copy.folder / "configs/models/mini-xs.yaml"
    model.write_text(re.sub(r"^  steps: \d+", "  steps: 1", model.read_text(), flags=re.MULTILINE))
    text = (copy.folder / "configs/studies/smoke.yaml").read_text().replace("study: smoke", "study: tuned")
    text = text.replace("seeds: [0, 1]", "seeds: [0]") + (
        "seeds_per_base: 1\ntuning: {rates: [1.0e-4, 3.0e-4], seeds: [900]}\n"
    )
    (copy.folder / "configs/studies/tuned.yaml").write_text(text)
    result = copy.snakemake(f"{OWN}/train", "--configfile", "configs/studies/tuned.yaml")
    assert result.returncode == 0, result.stdout[-5000:]
    return copy


def train(copy, out, *options, variant="ict-10"):
    files = StudyFiles(copy.folder / RESULTS)
    cell = ["--model", "mini-xs", "--variant", variant, "--seed", "0", "--base", str(files.base_model("mini-xs"))]
    paths = ["--problems", str(files.train_problems), "--out", str(copy.folder / out)]
    return copy.run("ict", "train", "--study", "configs/studies/tuned.yaml", *cell, *paths, *options)


def test_equal_rewards_choose_the_recipes_rate_whose_training_is_taken_over(tuned):
    files = StudyFiles(tuned.folder / RESULTS)
    choice = read_manifest(files.chosen_rate("mini-xs", "ict-10"))
    assert choice["rewards"] == {"0.0001": {"900": 0.0}, "0.0003": {"900": 0.0}}  # the base model knows nothing
    assert choice["learning_rate"] == 3e-4
    own, twin = (read_manifest(tuned.folder / cell / "train/manifest.json") for cell in (OWN, TWIN))
    assert own["taken_over"] == "ict-10@0.0003" and "taken_over" not in twin
    assert own["config"]["method"]["name"] == "ict-10" and own["config"]["training"]["learning_rate"] == 3e-4
    assert own["files"] == twin["files"] and own["model_sha256"] == twin["model_sha256"]


def test_trainings_that_tune_begin_with_base_models_of_their_own(tuned):
    files = StudyFiles(tuned.folder / RESULTS)
    bases = {number: read_manifest(files.base_model("mini-xs", number) / "manifest.json") for number in (0, 900)}
    assert bases[0]["model_sha256"] != bases[900]["model_sha256"]
    for cell, number in ((f"{RESULTS}/mini-xs/ict-10@0.0001/seed-900", 900), (TWIN, 0)):
        made = read_manifest(tuned.folder / cell / "train/manifest.json")
        assert made["base_sha256"] == bases[number]["model_sha256"]
    assert not (tuned.folder / RESULTS / "mini-xs/grpo").exists()  # nobody asked for it


def test_what_was_taken_over_is_what_the_training_itself_gives(tuned):
    result = tuned.run("ict", "verify", OWN, "--study", "configs/studies/tuned.yaml", "--stages", "train")
    assert result.returncode == 0, result.stdout
    assert "bit by bit" in result.stdout


def test_another_choice_trains_at_its_rate(tuned):
    files = StudyFiles(tuned.folder / RESULTS)
    choice = read_manifest(files.chosen_rate("mini-xs", "ict-10"))
    write_manifest(tuned.folder / "low.json", choice | {"learning_rate": 1e-4})
    result = train(tuned, "low", "--rate", "low.json", "--twin", f"{TWIN}/train")
    assert result.returncode == 0, result.stdout
    made = read_manifest(tuned.folder / "low/manifest.json")
    assert made["config"]["training"]["learning_rate"] == 1e-4 and "taken_over" not in made
    rates = pd.read_parquet(TrainFiles(tuned.folder / "low").log)["learning_rate"]
    assert rates.max() == pytest.approx(1e-4)
    assert hash_weights(tuned.folder / "low/model") != made["base_sha256"]


def test_a_rate_that_is_missing_or_not_wanted_is_refused(tuned):
    missing = train(tuned, "x")
    assert (
        missing.returncode == 2 and "--rate None: mini-xs/ict-10/seed-0 of tuned; allowed: the file" in missing.stdout
    )
    given = train(tuned, "x", "--rate", f"{RESULTS}/mini-xs/ict-10/rate.json", variant="ict-10@0.0003")
    assert given.returncode == 2 and "allowed: none, as the study does not tune it" in given.stdout
