"""The real rows, wherever they stand beside the repository: counts, hashes, ids, answers, hub and mirror alike."""

import json
import re
import shutil

import datasets
import pytest
import yaml
from published_sets import MIRROR, OPEN, REPOSITORY, SETS, real_rows

from ict_core.commands.cli import main
from ict_core.config import PublishedSet
from ict_core.problems.published import load_problems
from ict_core.problems.published._load import load_items
from ict_core.store import records

pytestmark = real_rows
ROWS = {"gsm8k": 1319, "math-500": 500, "mmlu-stem": 3153, "aime-23": 30, "aime-24": 30, "aime-25": 30}
ROWS |= {"gsm8k-train": 7473, "math-train": 7498, "gsm8k-short": 422, "gsm8k-short-train": 2579}


@pytest.fixture(scope="module")
def items():
    """The items of every set that is not gated; loading them checks row counts, answers and content hashes.

    The stated hashes are the code's own: that they hold shows that no row has changed. The rows are checked below.
    """
    return {name: load_items(SETS[name], MIRROR) for name in OPEN}


def test_every_set_is_whole_and_its_ids_are_unique(items):
    assert {name: len(found) for name, found in items.items()} == ROWS
    for found in items.values():
        ids = [item.id for item in found]
        assert len(set(ids)) == len(ids) and ids == sorted(ids)
        assert all(item.question and item.answer.strip() for item in found)


def test_answers_are_of_their_type(items):
    for name in ("aime-23", "aime-24", "aime-25"):
        assert all(item.answer == str(int(item.answer)) and 0 <= int(item.answer) <= 999 for item in items[name])
    assert "51" in {item.answer for item in items["aime-23"]}
    for name in ("gsm8k", "gsm8k-train"):
        assert all(re.fullmatch(r"-?\d+", item.answer) for item in items[name])
    assert all(item.answer in "ABCD" and len(item.choices) == 4 for item in items["mmlu-stem"])


def test_math_train_is_seven_configs_less_two_rows_without_an_answer(items):
    published = SETS["math-train"]
    raw = [
        json.loads(line)
        for config in published.configs
        for line in (MIRROR / published.hub / config / "train.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert len(published.configs) == len({item.id.rpartition("-")[0] for item in items["math-train"]}) == 7
    assert len(raw) == 7500
    lost = {row["problem"].strip() for row in raw} - {item.question for item in items["math-train"]}
    assert len(lost) == 2
    assert all("\\boxed{}" in row["solution"] for row in raw if row["problem"].strip() in lost)


def test_equal_and_nearly_equal_problems_are_kept_apart(items):
    doubled = [item for item in items["mmlu-stem"] if item.id.endswith("-2")]
    by_id = {item.id: item for item in items["mmlu-stem"]}
    lines = (MIRROR / "TIGER-Lab/MMLU-STEM/default/test.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(doubled) == len(lines) - len(set(lines)) == 12
    assert all(by_id[item.id.removesuffix("-2")][1:] == item[1:] for item in doubled)
    near = next(item for item in items["math-500"] if item.id == "test/precalculus/285.json")
    plain = re.sub(r"[\W_]", "", near.question)
    twins = [item for item in items["math-train"] if re.sub(r"[\W_]", "", item.question) == plain]
    assert [twin.id.rpartition("-")[0] for twin in twins] == ["precalculus"]
    assert (near.answer, twins[0].answer) == ("6", "12")


def as_on_the_hub(published: PublishedSet, config: str) -> list[dict]:
    """The mirror's rows in another order and with another column; those of AIME 2023 as the hub has them."""
    copy = published.mirror_copy
    place = MIRROR / (
        f"{copy.hub}/{copy.config}/{copy.split}" if copy else f"{published.hub}/{config}/{published.split}"
    )
    lines = place.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    rows = [{**json.loads(line), "extra": number} for number, line in enumerate(lines)][::-1]
    if published.name != "aime-23":
        return rows
    for row in rows:
        _, contest, number = row["id"].split("-")
        row["url"] = f"https://made.up/2023_AIME_{contest}_Problems/Problem_{number}"
        row["answer"] = row["answer"].zfill(3)
        row["id"] = row["extra"]
    return [*rows, {**rows[0], "url": "https://made.up/2022_AIME_I_Problems/Problem_1"}]


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN)
def test_hub_and_mirror_give_the_same_frame(name, monkeypatch):
    published, asked, original = SETS[name], [], datasets.load_dataset

    def load_dataset(path, config=None, **options):
        if path == "json":
            return original(path, config, **options)
        asked.append((path, config, options))
        return datasets.Dataset.from_list(as_on_the_hub(published, config))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    mirrored, hub = load_problems(published, MIRROR, 0), load_problems(published, None, 0)
    assert mirrored.equals(hub)
    options = {"split": published.split, "revision": published.revision, "token": False}
    assert asked == [(published.hub, config, options) for config in published.configs]
    assert list(mirrored.columns) == list(records.PROBLEMS)
    assert set(mirrored["benchmark"]) == {name} and set(mirrored["answer_type"]) == {published.answer_type}
    assert not mirrored["prompt"].str.contains(r"\{question\}|\{options\}", regex=True).any()


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
