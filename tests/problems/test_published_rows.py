"""The real rows, wherever they stand beside the repository: counts, hashes, ids, answers, hub and mirror alike."""

import json
import re
import shutil

import datasets
import pytest
import yaml
from published_sets import MIRROR, OPEN, REPOSITORY, SETS, real_rows, rows

from ict_core.commands.cli import main
from ict_core.config.inputs import PublishedSet
from ict_core.problems.published.load import load_problems
from ict_core.store import records

pytestmark = real_rows
ROWS = {"gsm8k": 1319, "math-500": 500, "mmlu-stem": 3153, "aime-23": 30, "aime-24": 30, "aime-25": 30}
ROWS |= {"gsm8k-train": 7473, "math-train": 7498, "gsm8k-short": 422, "gsm8k-short-train": 2579}


@pytest.fixture(scope="module")
def sets():
    """The problems of every set that is not gated; loading them checks row counts, answers and content hashes.

    The stated hashes are the code's own: that they hold shows that no row has changed. The rows are checked below.
    """
    return {name: load_problems(SETS[name], MIRROR, 0) for name in OPEN}


def test_every_set_is_whole_and_its_answers_are_of_their_type(sets):
    assert {name: len(frame) for name, frame in sets.items()} == ROWS
    for frame in sets.values():
        assert frame["problem"].is_unique and frame["problem"].is_monotonic_increasing
        assert frame["question"].str.strip().all() and frame["answer"].str.strip().all()
    for name in ("aime-23", "aime-24", "aime-25"):
        assert all(answer == str(int(answer)) and 0 <= int(answer) <= 999 for answer in sets[name]["answer"])
    for name in ("gsm8k", "gsm8k-train"):
        assert all(re.fullmatch(r"-?\d+", answer) for answer in sets[name]["answer"])
    assert set(sets["mmlu-stem"]["answer"]) == set("ABCD")
    assert all(len(json.loads(options)) == 4 for options in sets["mmlu-stem"]["options"])


def test_math_train_is_seven_configs_less_two_rows_without_an_answer(sets):
    raw, problems = rows("EleutherAI/hendrycks_math/*/train.jsonl"), sets["math-train"]
    assert len(SETS["math-train"].configs) == problems["problem"].str.rpartition("-")[0].nunique() == 7
    assert len(raw) == 7500
    lost = {row["problem"].strip() for row in raw} - set(problems["question"])
    assert len(lost) == 2
    assert all("\\boxed{}" in row["solution"] for row in raw if row["problem"].strip() in lost)


def test_equal_and_nearly_equal_problems_are_kept_apart(sets):
    stem = sets["mmlu-stem"].set_index("problem")
    doubled = [name for name in stem.index if name.endswith("-2")]
    lines = (MIRROR / "TIGER-Lab/MMLU-STEM/default/test.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(doubled) == len(lines) - len(set(lines)) == 12
    assert all(stem.loc[name].equals(stem.loc[name.removesuffix("-2")]) for name in doubled)
    near = sets["math-500"].set_index("problem").loc["test/precalculus/285.json"]
    plain = sets["math-train"]["question"].str.replace(r"[\W_]", "", regex=True)
    twins = sets["math-train"][plain == re.sub(r"[\W_]", "", near["question"])]
    assert [name.rpartition("-")[0] for name in twins["problem"]] == ["precalculus"]
    assert [near["answer"], *twins["answer"]] == ["6", "12"]


def as_on_the_hub(published: PublishedSet, config: str) -> list[dict]:
    """The mirror's rows in another order and with another column; those of AIME 2023 as the hub has them."""
    copy = published.mirror_copy
    place = f"{copy.hub}/{copy.config}/{copy.split}" if copy else f"{published.hub}/{config}/{published.split}"
    found = [{**row, "extra": number} for number, row in enumerate(rows(f"{place}.jsonl"))][::-1]
    if published.name != "aime-23":
        return found
    for row in found:
        _, contest, number = row["id"].split("-")
        row["url"] = f"https://made.up/2023_AIME_{contest}_Problems/Problem_{number}"
        row["answer"] = row["answer"].zfill(3)
        row["id"] = row["extra"]
    return [*found, {**found[0], "url": "https://made.up/2022_AIME_I_Problems/Problem_1"}]


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN)
def test_hub_and_mirror_give_the_same_frame(sets, name, monkeypatch):
    published, asked = SETS[name], []

    def load_dataset(path, config, **options):
        asked.append((path, config, options))
        return datasets.Dataset.from_list(as_on_the_hub(published, config))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    mirrored = sets[name]
    assert mirrored.equals(load_problems(published, None, 0))
    options = {"split": published.split, "revision": published.revision, "token": False}
    assert asked == [(published.hub, config, options) for config in published.configs]
    assert list(mirrored.columns) == list(records.PROBLEMS)
    assert set(mirrored["benchmark"]) == {name} and set(mirrored["answer_type"]) == {published.answer_type}
    assert all(map(str.__contains__, mirrored["prompt"], mirrored["question"]))


@pytest.mark.slow
def test_the_data_stage_reads_a_mirror_that_is_named_from_the_repositorys_folder(tmp_path, monkeypatch):
    shutil.copytree(REPOSITORY / "configs", tmp_path / "configs")
    shutil.copytree(MIRROR, tmp_path / "mirror")
    study = yaml.safe_load((REPOSITORY / "configs/studies/smoke.yaml").read_text())
    study["benchmarks"] = [name for name in OPEN if not name.endswith("train")]
    study["data"] = {"seed": 0, "train_sets": ["gsm8k-train", "math-train"], "mirror": "mirror"}
    file = tmp_path / "configs/studies/smoke.yaml"
    file.write_text(yaml.safe_dump(study))
    paths = {name: tmp_path / "out" / f"{name}.parquet" for name in ("train", "eval")}
    monkeypatch.chdir(tmp_path.parent)  # from wherever it is called
    assert main(["data", "--study", str(file), *(f"--{name}={path}" for name, path in paths.items())]) == 0
    train, held_out = (records.read_frame(path, records.PROBLEMS) for path in paths.values())
    assert (len(train), len(held_out)) == (7473 + 7498, 1319 + 422 + 500 + 3153 + 90)
    assert set(train["prompt"]).isdisjoint(held_out["prompt"])
