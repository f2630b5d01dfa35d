"""The mini world by hand and by property: steps, forks, balance, and no evaluation prompt in any training text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.errors import UserError
from ict_core.grading.answers import grade_answer
from ict_core.problems.mini.arithmetic import Step, fork_offsets, fork_tokens
from ict_core.problems.mini.problems import (
    FAMILIES,
    TEMPLATE,
    evaluation_problems,
    pretraining_documents,
    training_problems,
)
from ict_core.problems.mini.tokenizer import train_tokenizer
from ict_core.seeding import generator
from ict_core.store import records

SETS = {f"mini-{family}": (family, 60) for family in ("word", "symbolic", "stem", "science")}
SETS |= {f"mini-aime{year}": ("aime", 30) for year in (23, 24, 25)}


@pytest.mark.parametrize(
    ("step", "direct", "worked"),
    [
        (Step(47, "+", 38), "47+38=85.", "47+38:7+8=15,4+3+1=8;85."),
        (Step(42, "+", 35), "42+35=77.", "42+35:2+5=7,4+3=7;77."),
        (Step(95, "+", 8), "95+8=103.", "95+8:5+8=13,9+0+1=10;103."),
        (Step(100, "-", 58), "100-58=42.", "100-58:10-8=2,10-5-1=4,1-0-1=0;42."),
        (Step(85, "-", 32), "85-32=53.", "85-32:5-2=3,8-3=5;53."),
        (Step(47, "*", 5), "47*5=235.", "47*5:7*5=35,4*5+3=23;235."),
    ],
)
def test_steps_by_hand(step, direct, worked):
    assert (step.direct(), step.worked()) == (direct, worked)


operands = st.integers(0, 999)


@given(a=operands, b=operands, d=st.integers(0, 9), operation=st.sampled_from("+-*"))
def test_every_equation_of_a_worked_step_is_true(a, b, d, operation):
    step = Step(max(a, b), operation, d if operation == "*" else min(a, b))
    inner = step.worked().removesuffix(f";{step.result}.").partition(":")[2]
    for equation in inner.split(","):
        left, right = equation.split("=")
        assert re.fullmatch(r"[\d+*-]+", left)
        assert eval(left) == int(right)  # noqa: S307 - digits and operators only
    units_first = [int(equation.split("=")[1]) % 10 for equation in inner.split(",")[:-1]]
    last = int(inner.split(",")[-1].split("=")[1])
    assert int("".join(map(str, [last, *units_first[::-1]]))) == step.result


@pytest.mark.parametrize("bad", [(1, "-", 2), (5, "*", 10), (-1, "+", 1)])
def test_impossible_steps_are_refused(bad):
    with pytest.raises(ValueError):
        Step(*bad)


@pytest.mark.parametrize("family", FAMILIES)
def test_solutions_grade_as_correct_and_have_one_fork_a_step(family):
    rng = generator(0, "test", family)
    for _ in range(50):
        problem = FAMILIES[family](rng)
        worked = (rng.random(len(problem.steps)) < 0.5).tolist()
        text = problem.solution(worked)
        kind = "choice" if problem.letter else "math"
        assert grade_answer(text, problem.answer, kind).status == "correct"
        assert [text[i] for i in fork_offsets(text)] == [":" if w else "=" for w in worked]


@pytest.mark.parametrize("family", ["stem", "science"])
def test_choices_are_balanced(family):
    rng = generator(0, "balance", family)
    answers = [FAMILIES[family](rng).answer for _ in range(800)]
    assert all(160 <= answers.count(letter) <= 240 for letter in "ABCD")


@pytest.mark.slow
def test_no_evaluation_prompt_is_ever_trained_on():
    held_out = evaluation_problems(0, SETS)
    prompts = set(held_out["prompt"])
    assert len(held_out) == len(prompts) == 330
    assert prompts.isdisjoint(training_problems(0, 1000, prompts)["prompt"])
    assert prompts.isdisjoint(prompt for prompt, _ in pretraining_documents(0, 4000, prompts))
    # the exclusion is at work: without it prompts do recur
    assert not prompts.isdisjoint(prompt for prompt, _ in pretraining_documents(0, 4000, set()))


def test_sets_fit_their_schema_and_repeat(tmp_path):
    frame = evaluation_problems(3, SETS)
    records.write_frame(frame, tmp_path / "eval.parquet", records.PROBLEMS)
    assert [TEMPLATE.format(question=question) for question in frame["question"]] == list(frame["prompt"])
    assert set(frame["options"]) == {"[]"}
    assert frame.equals(evaluation_problems(3, SETS))
    assert not frame.equals(evaluation_problems(4, SETS))


def test_more_problems_than_a_family_has_are_refused(monkeypatch):
    few = [FAMILIES["stem"](generator(0, "few", index)) for index in range(3)]
    monkeypatch.setitem(FAMILIES, "stem", lambda rng: few[rng.integers(3)])
    assert len(evaluation_problems(0, {"mini-stem": ("stem", 3)})) == 3
    with pytest.raises(UserError, match="ask for fewer"):
        evaluation_problems(0, {"mini-stem": ("stem", 4)})


def read(completion):
    """Each step's numbers and whether it is worked, and the answer, by a reading of its own."""
    found = re.findall(r" (\d+)([-+*])(\d+)(=|:(?:[^;]*);)(\d+)\.", completion)
    return [(int(a), op, int(b), way != "=", int(c)) for a, op, b, way, c in found], completion.rpartition("{")[2][:-1]


def test_slips_are_in_direct_results_alone_and_the_solution_goes_on_with_them():
    plain, slipped = (list(pretraining_documents(5, 1000, set(), slips)) for slips in (0.0, 0.8))
    wrong = direct = 0
    for (prompt, without), (same, completion) in zip(plain, slipped, strict=True):
        steps, answer = read(completion)
        assert same == prompt and [s[3] for s in steps] == [s[3] for s in read(without)[0]]
        assert [s[0] for s in steps[1:]] == [s[4] for s in steps[:-1]]
        for a, operation, b, worked, result in steps:
            right = {"+": a + b, "-": a - b, "*": a * b}[operation]
            if result != right:
                digits = str(right)
                assert not worked and len(str(result)) == len(digits)
                assert sum(x != y for x, y in zip(str(result), digits, strict=True)) == 1
            direct, wrong = direct + (not worked), wrong + (result != right)
        if "tens A<2" in prompt or "Ends A<2" in prompt:
            digit = steps[-1][4] // (10 if "tens" in prompt else 1) % 10
            answer_is = "A" if digit < 2 else "B" if digit < 5 else "C" if digit < 8 else "D"
        else:
            answer_is = str(steps[-1][4])
        assert answer == answer_is
    assert direct > 500 and 0.75 < wrong / direct < 0.82  # a few would take a later step below 0
    assert plain == list(pretraining_documents(5, 1000, set()))


@pytest.mark.slow
def test_a_fork_is_exactly_one_token_and_the_prompt_template_is_the_prompt():
    tokenizer = train_tokenizer(352)
    problem = FAMILIES["word"](generator(0, "template"))
    chat = [{"role": "user", "content": problem.question}]
    assert tokenizer.apply_chat_template(chat, tokenize=False) == problem.prompt
    for _, completion in pretraining_documents(3, 50, set()):
        ids = tokenizer(completion)["input_ids"]
        assert tokenizer.decode(ids) == completion
        marks = fork_tokens(tokenizer, [*ids, tokenizer.eos_token_id])
        chosen = [tokenizer.decode([token]) for token, mark in zip(ids, marks, strict=False) if mark]
        assert chosen == [completion[offset] for offset in fork_offsets(completion)] != []
        assert not marks[-1]
    odd = [*range(2, 60), tokenizer.pad_token_id]  # bytes that are no characters of their own
    assert fork_tokens(tokenizer, [*odd, *ids])[len(odd) :] == fork_tokens(tokenizer, [*odd, *ids, 5])[len(odd) : -1]
    assert fork_tokens(tokenizer, []) == []
