"""Sets that a package's generators make: their content, what they share, grading, and what is refused."""

import re
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import yaml

from ict_core.config.inputs import GeneratorSet, TrainingSet
from ict_core.config.load import load_benchmark
from ict_core.config.section import load_section
from ict_core.errors import UserError
from ict_core.grading.answers import grade_answer
from ict_core.problems.published.load import check_access, load_problems, load_solutions
from ict_core.store import records

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SUMS = {"dataset": "arithmetic.chain_sum", "options": {"min_terms": 2, "max_terms": 3, "max_digits": 2}}
PRODUCTS = {"dataset": "arithmetic.products", "options": {"max_digits": 2}}
LETTERS = {"dataset": "algorithmic.letter_counting", "options": {"min_words": 3, "max_words": 5}}
STATED = {
    **{"kind": "generator", "name": "made", "package": "reasoning-gym", "version": "0.1.25", "licence": "Apache-2.0"},
    **{"generators": [SUMS, PRODUCTS, LETTERS], "seed": 0, "rows": 30, "sha256": "0" * 64, "answer_type": "number"},
    "prompt": {"template": "Question: {question}\nAnswer:", "source": "made up"},
}


@pytest.fixture
def made(tmp_path):
    """A set as its file would state it, with the hash of what it makes where there is none."""

    def make(folder: str = "benchmarks", hashed: bool = True, **changes: object) -> GeneratorSet:
        content = STATED | ({"mirrors": "none"} if folder == "benchmarks" else {}) | changes
        file = tmp_path / folder / "made.yaml"
        file.parent.mkdir(exist_ok=True)
        read = load_benchmark if folder == "benchmarks" else lambda path: load_section(path, TrainingSet)
        file.write_text(yaml.safe_dump(content))
        if hashed:
            with pytest.raises(UserError) as caught:
                load_problems(read(file), None, 0)
            file.write_text(yaml.safe_dump(content | {"sha256": re.findall(r"[0-9a-f]{64}", str(caught.value))[1]}))
        return read(file)

    return make


def right(question: str) -> int:
    """The answer, worked out here."""
    if counted := re.fullmatch(r'How many times does the letter "(.)" appear in the text: "(.*)"\?', question, re.S):
        return counted[2].lower().count(counted[1].lower())
    text = re.search(r"-?\d[\d+* -]*", question)
    assert text and re.fullmatch(r"\d+( [+*-] \d+)+", text[0].strip())
    signed = re.sub(r"- ", "-", text[0].strip())
    if "*" in signed:
        left, other = signed.split(" * ")
        return int(left) * int(other)
    return sum(int(number) for number in re.findall(r"-?\d+", signed.replace("+ ", "")))


def test_the_problems_of_every_generator_and_their_exact_answers(made, tmp_path):
    assert right("State it: 47 - 38 + 5 =") == 14 and right("Solve: 12 * 11. Give") == 132
    frame = load_problems(made(), None, 0)
    records.write_frame(frame, tmp_path / "made.parquet", records.PROBLEMS)
    assert len(frame) == 30 and frame["question"].is_unique and frame["problem"].is_unique
    assert frame["answer"].astype(int).tolist() == [right(question) for question in frame["question"]]
    kinds = [sum(word in question for question in frame["question"]) for word in ("arithmetic", "multipl", "letter")]
    assert kinds == [10, 10, 10]
    assert frame["prompt"].tolist() == [f"Question: {question}\nAnswer:" for question in frame["question"]]


def test_a_seed_gives_the_same_problems_and_another_one_others(made):
    first, again, other = (load_problems(made(seed=seed), None, 0) for seed in (0, 0, 1))
    assert first.equals(again)
    assert len(set(first["question"]) & set(other["question"])) < 10


def test_no_training_problem_is_a_test_problem_and_fewer_are_drawn_by_the_data_seed(made):
    """Of sums and differences of two digits there are few hundred, so both sets would share most of them."""
    few = [{"dataset": "arithmetic.chain_sum", "options": {"min_terms": 2, "max_terms": 2, "max_digits": 1}}]
    held_out = load_problems(made(generators=few, rows=10), None, 0)
    training = made("data", generators=few, rows=120)
    trained = load_problems(training, None, 0)
    assert len(trained) == 120 and not set(trained["question"]) & set(held_out["question"])
    fewer = [load_problems(training.changed(problems=5), None, seed) for seed in (0, 0, 1)]
    assert fewer[0].equals(fewer[1]) and not fewer[0].equals(fewer[2]) and len(fewer[2]) == 5


def test_the_right_number_in_a_box_is_right_and_another_one_is_not(made):
    problems = load_problems(made(rows=6), None, 0)
    for gold, kind in zip(problems["answer"], problems["answer_type"], strict=True):
        assert grade_answer(f"It is \\boxed{{{gold}}}.", gold, kind).status == "correct"
        assert grade_answer(f"It is \\boxed{{{int(gold) + 1}}}.", gold, kind).status == "wrong"


OWN = {"package": "ict-core", "version": "1"}
OURS = {**OWN, "generators": [{"dataset": "one_step.plus"}]}
REFUSED = {
    "another version": ({"version": "0.1.24"}, "version: 0.1.24 of reasoning-gym", "0.1.25 is installed"),
    "another version of ours": ({**OURS, "version": "0"}, "version: 0 of ict-core", "1 is installed"),
    "our options": (
        {**OWN, "generators": [{"dataset": "one_step.plus", "options": {"highest": 1}}]},
        "generators[0]",
        "2 to 1000",
    ),
    "unknown folder": ({"generators": [{"dataset": "sums.chain_sum"}]}, "generators[0].dataset", "reasoning_gym.sums"),
    "unknown generator": ({"generators": [{"dataset": "arithmetic.sums"}]}, "generators[0].dataset", "arithmetic.sums"),
    "no generator": ({"generators": [{"dataset": "arithmetic.gsm_symbolic.generators_00_49"}]}, "generators[0]"),
    "unknown option": ({"generators": [SUMS, {**PRODUCTS, "options": {"terms": 2}}]}, "generators[1]", "terms"),
    "option out of bounds": ({"generators": [{**SUMS, "options": {"min_terms": 9}}]}, "generators[0]", "max_terms"),
    "too many": (
        {"generators": [{**SUMS, "options": {"max_terms": 2, "max_digits": 1}}], "rows": 60},
        "of 60 distinct",
    ),
    "another hash": ({}, "sha256: 00000000", "reasoning-gym has"),
    "other answers": ({"answer_type": "integer"}, "answer_type: integer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_told_in_one_line(made, case):
    changes, *words = REFUSED[case]
    with pytest.raises(UserError) as caught:
        load_problems(made(hashed=False, **changes), None, 0)
    told = str(caught.value)
    assert told.startswith("configs/benchmarks/made.yaml: ") and "\n" not in told
    assert [word for word in words if word not in told] == []


WORKED_OUT = {  # the wording of each story -> its answer, of the two numbers in it
    **dict.fromkeys(("more. How many", "more there", "together"), lambda first, second: first + second),
    **dict.fromkeys(("have left", "takes out", "than"), lambda first, second: first - second),
    **dict.fromkeys(("boxes with", "buys"), lambda first, second: first * second),
    **dict.fromkeys(("equally", "into bags"), lambda first, second: first / second),
}


def test_the_word_problems_of_one_step_have_the_answers_that_their_stories_say(made):
    kinds = [
        {"dataset": f"one_step.{kind}", "options": {"highest": 9}} for kind in ("plus", "minus", "times", "divided")
    ]
    frame = load_problems(made(generators=kinds, rows=200, **OWN), None, 0)
    told = dict.fromkeys(WORKED_OUT, 0)
    for question, answer in zip(frame["question"], frame["answer"], strict=True):
        first, second = map(int, re.findall(r"[0-9]+", question))
        (words,) = [words for words in WORKED_OUT if words in question]
        assert int(answer) == WORKED_OUT[words](first, second), question
        told[words] += 1
    assert min(told.values()) > 0 and max(frame["answer"].astype(int)) <= 81


def test_a_worked_solution_ends_in_the_calculation_and_its_right_result(made):
    kinds = [{"dataset": f"one_step.{kind}"} for kind in ("plus", "minus", "times", "divided")]
    stated = made("data", generators=kinds, rows=40, **OWN)
    answers = load_problems(stated, None, 0).set_index("problem")
    solved = load_solutions(stated, None)
    assert solved["problem"].tolist() == answers.index.tolist() and len(solved) == 40
    for row in solved.itertuples():
        first, sign, second, result, box = re.fullmatch(
            r".*\. (\d+) ([-+*/]) (\d+) = (\d+)\. The answer is \\boxed\{(\d+)\}\.", row.completion
        ).groups()
        assert result == box == answers["answer"][row.problem]
        assert eval(f"{first} {sign} {second}") == int(result)
        assert {first, second} <= set(re.findall(r"\d+", answers["question"][row.problem]))


def test_a_package_without_worked_solutions_is_refused(made):
    with pytest.raises(UserError, match="package: reasoning-gym .*allowed: ict-core"):
        load_solutions(made("data", rows=6), None)


def test_the_shipped_sets_share_no_problem_with_each_other():
    held_out = load_benchmark(CONFIGS / "benchmarks/one-step.yaml")
    training = load_section(CONFIGS / "data/one-step-train.yaml", TrainingSet)
    assert (held_out.generators, held_out.prompt) == (training.generators, training.prompt)
    tested, trained = (load_problems(one, None, 0) for one in (held_out, training))
    test, train = set(tested["question"]), set(trained["question"])
    assert (len(test), len(train)) == (200, 4000) and not test & train
    asked = [of["question"].str.findall(r"\d+").str.join(" ") + ": " + of["answer"] for of in (tested, trained)]
    assert set(asked[0]) <= set(asked[1])  # as docs/models.md says


def test_a_missing_package_is_told_before_anything_is_made(made, monkeypatch):
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    stated = made()
    monkeypatch.setattr("ict_core.problems.published._generate.version", version)
    with pytest.raises(UserError, match="pip install --no-deps reasoning-gym==0.1.25"):
        check_access([stated], None)


def test_a_generator_whose_own_packages_are_missing_is_refused(made, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("reasoning_gym.algorithmic.game_of_life")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cellpylib", None)
    with pytest.raises(UserError, match=r"generators\[0\].dataset: .*needs the package cellpylib"):
        check_access([made(hashed=False, generators=[{"dataset": "algorithmic.game_of_life"}])], None)
