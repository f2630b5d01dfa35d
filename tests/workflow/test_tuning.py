"""A learning rate is chosen by the workflow, and what it is chosen for trains at it."""

import hashlib
import re
import shutil

import pandas as pd
import pytest
from repository_copy import REPOSITORY, Copy

from ict_core.config.load import load_study
from ict_core.config.study_file import Cell
from ict_core.config.tuning import at_rate
from ict_core.errors import UserError
from ict_core.evidence.tuning import check_rewards
from ict_core.store.files import hash_weights
from ict_core.store.layout import StudyFiles, TrainFiles
from ict_core.store.manifests import read_manifest, write_manifest
from ict_core.store.records import REWARDS, read_frame

pytestmark = pytest.mark.long

RESULTS = "results/tuned"
OWN, TWIN = f"{RESULTS}/mini-xs/ict-10/seed-0", f"{RESULTS}/mini-xs/ict-10@0.0003/seed-0"


def a_copy(folder, study: str, tuning: str) -> Copy:
    """A copy with a study of smoke's first seed that has a tuning; its base models know nothing."""
    copy = Copy(folder)
    model = copy.folder / "configs/models/mini-xs.yaml"
    model.write_text(re.sub(r"^  steps: \d+", "  steps: 1", model.read_text(), flags=re.MULTILINE))
    text = (copy.folder / "configs/studies/smoke.yaml").read_text().replace("study: smoke", f"study: {study}")
    text = text.replace("seeds: [0, 1]", "seeds: [0]")
    (copy.folder / f"configs/studies/{study}.yaml").write_text(f"{text}tuning: {{{tuning}}}\n")
    return copy


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> Copy:
    """A study that chooses a rate, run up to the training of one of its cells."""
    copy = a_copy(tmp_path_factory.mktemp("tuned"), "tuned", "rates: [1.0e-4, 3.0e-4], seeds: [900], shared_rate: true")
    copy.made(f"{OWN}/train", "--config=study=tuned")
    return copy


def train(copy, out, *options, variant="ict-10"):
    files = StudyFiles(copy.folder / RESULTS)
    cell = ["--model", "mini-xs", "--variant", variant, "--seed", "0", "--base", str(files.base_model("mini-xs"))]
    paths = ["--problems", str(files.train_problems), "--held-out", str(files.eval_problems)]
    paths += ["--out", str(copy.folder / out)]
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


def test_what_was_taken_over_is_what_the_training_itself_gives(tuned):
    study = ("--study", "configs/studies/tuned.yaml")
    assert "bit by bit" in tuned.done("ict", "verify", OWN, *study, "--stages", "train")


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
    assert missing.returncode == 2
    assert "--rate None: mini-xs/ict-10/seed-0 of tuned; allowed: the file" in missing.stdout
    given = train(tuned, "x", "--rate", f"{RESULTS}/mini-xs/ict-10/rate.json", variant="ict-10@0.0003")
    assert given.returncode == 2 and "allowed: none" in given.stdout


@pytest.fixture(scope="module")
def rates(tmp_path_factory) -> Copy:
    """A study of rates alone, of two variants in three rounds; its rates stored."""
    tuning = "rates: [1.0e-4, 2.0e-4], seeds: [900, 901], steps: 3, extend: true, halving: true"
    copy = a_copy(tmp_path_factory.mktemp("rates"), "tiny-rates", tuning)
    study = copy.folder / "configs/studies/tiny-rates.yaml"
    study.write_text(study.read_text().replace("[grpo, ict-10]", "[grpo, grpo-rerun]"))
    copy.made("rates", "--config=study=tiny-rates")
    shutil.copytree(copy.folder / "results/tiny-rates/rates", copy.folder / "results/reference/tiny-rates")
    return copy


def test_the_grid_goes_on_where_the_best_lies_at_an_edge_and_half_of_the_rates_take_every_seed(rates):
    """Where all rewards are equal, the recipe's neighbour, here the highest, is the best."""
    grpo = rates.folder / "results/tiny-rates/mini-xs/grpo"
    first, second = (read_manifest(grpo / f"rate-{number}.json") for number in (1, 2))
    assert {tuple(asked) for asked in first["next"]} == {(4e-4, 900), (8e-4, 900)}
    assert {tuple(asked) for asked in second["next"]} == {(2e-4, 901), (4e-4, 901)}  # nearest to the recipe's 3e-4
    choice = read_manifest(grpo / "rate.json")
    assert {rate: sorted(of) for rate, of in choice["rewards"].items()} == {
        **dict.fromkeys(("0.0001", "0.0008"), ["900"]),
        **dict.fromkeys(("0.0002", "0.0004"), ["900", "901"]),
    }
    assert choice["learning_rate"] == 4e-4 and choice["base_rewards"].keys() == {"900", "901"}
    trained = sorted(path.parent.relative_to(grpo.parent).as_posix() for path in grpo.parent.glob("*@*/seed-*/train"))
    tried = [(rate, seed) for rate, of in choice["rewards"].items() for seed in of]
    assert trained == sorted(f"grpo@{rate}/seed-{seed}" for rate, seed in tried)  # the replica is not tuned by itself
    for folder in trained:
        assert len(pd.read_parquet(TrainFiles(grpo.parent / folder / "train").log)) == 3


def test_a_training_of_a_later_round_that_is_gone_is_made_anew(rates):
    train = rates.folder / "results/tiny-rates/mini-xs/grpo@0.0004/seed-901/train"
    aside = train.rename(train.with_name("aside"))
    planned = rates.planned("--config=study=tiny-rates")
    aside.rename(train)
    assert [job[:2] for job in planned if "@" in job[1]] == [("train", "grpo@0.0004")]


def test_a_stored_choice_follows_from_the_stored_rewards(rates):
    stored = rates.folder / "results/reference/tiny-rates"
    for folder in (stored, *(path.parent for path in REPOSITORY.glob("results/reference/*/rates.json"))):
        files = StudyFiles(folder)
        content, rewards = read_manifest(files.rates), read_frame(files.rewards, REWARDS)
        assert {job["stage"] for job in read_manifest(files.manifest)["jobs"]} >= {"train", "tune"}
        for arm, choice in content["arms"].items():
            model, variant = arm.split("/")
            own = rewards[(rewards["model"] == model) & (rewards["variant"] == variant)]
            assert check_rewards(own, choice, content["learning_rate"]) == []
            raised = own.assign(reward=own["reward"] + 0.1)
            of_each = [*choice["rewards"].values(), choice["base_rewards"]]
            assert len(check_rewards(raised, choice, content["learning_rate"])) == sum(map(len, of_each))
            other = choice | {"learning_rate": 1.0}
            assert check_rewards(own, other, content["learning_rate"]) == ["the rate that they choose"]


def taking(rates, *changes):
    """The file of a study that takes the stored rates."""
    text = (rates.folder / "configs/studies/smoke.yaml").read_text().replace("study: smoke", "study: taking")
    text = text.replace("seeds: [0, 1]", "seeds: [0]").replace("[grpo, ict-10]", "[grpo, grpo-rerun]")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    file = rates.folder / "configs/studies/taking.yaml"
    file.write_text(f"{text}rates_of: tiny-rates\n")
    return file


def test_a_study_trains_at_the_stored_rates_and_holds_the_hash_of_their_file(rates):
    study = load_study(taking(rates))
    stored = StudyFiles(rates.folder / "results/reference/tiny-rates").rates
    stated = {"study": "tiny-rates", "sha256": hashlib.sha256(stored.read_bytes()).hexdigest()}
    for cell in study.cells():
        resolved = study.resolve(cell)
        assert resolved["rates_of"] == stated and resolved["training"]["learning_rate"] == 4e-4
        assert "rates_of" not in study.resolve(cell._replace(variant=at_rate(cell.variant, 1e-3)))
    assert study.stage_config("evidence")["rates_of"] == stated
    assert study.tuning_cells() == study.shared_rate_cells() == []
    planned = rates.planned("results/taking/mini-xs/grpo/seed-0/train", "--config=study=taking")
    assert sorted(rule for rule, _, _ in planned) == ["data", "pretrain", "train"]  # none that chooses a rate


def test_a_variant_that_was_not_tuned_takes_the_rate_of_the_method_that_it_varies(rates):
    study = load_study(taking(rates, ("[grpo, grpo-rerun]", "[grpo, grpo-random-reward]")))
    assert study.rated_arms() == [("mini-xs", "grpo")]
    assert study.training_of("mini-xs", "grpo-random-reward").learning_rate == 4e-4
    resolved = study.resolve(Cell("mini-xs", "grpo-random-reward", 0))
    assert resolved["rates_of"]["study"] == "tiny-rates" and resolved["training"]["learning_rate"] == 4e-4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("[grpo, grpo-rerun]", "[grpo, ict-10]"), "'tiny-rates' has no rate of mini-xs/ict-10"),
        (("train_problems: 64", "train_problems: 32"), "with data.train_problems 64, here it is 32"),
        (("seeds: [0]", "seeds: [901]"), "seed 901 tuned in 'tiny-rates'"),
    ],
)
def test_stored_rates_of_other_trainings_are_refused_in_one_line(rates, change, told):
    with pytest.raises(UserError) as caught:
        load_study(taking(rates, change))
    assert str(caught.value).count("\n") == 0 and told in str(caught.value)


def test_trainings_that_are_stored_as_cells_do_not_have_the_rate_chosen_again(rates):
    rates.done("ict", "cells", "tiny-rates")
    assert (rates.folder / "results/cells/tiny-rates/mini-xs/grpo@0.0004/seed-901/cell.json").exists()
    printed = rates.made("--dry-run", "rates", "--config=study=tiny-rates")
    assert set(re.findall(r"^(\w+) +\d+$", printed, re.MULTILINE)) == {"rates", "total"}  # base models are stored
