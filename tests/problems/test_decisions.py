"""Which tokens decide: by hand, and against the definition read a character at a time."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ict_core.problems.mini.decisions import decision_offsets, decision_tokens
from ict_core.problems.mini.problems import FAMILIES, Problem, problem_of
from ict_core.problems.mini.tokenizer import train_tokenizer
from ict_core.seeding import generator
from ict_core.selection.base import TokenBatch
from ict_core.selection.registry import selector
from ict_core.tokens.streaming import TokenStatistics

CHAIN = problem_of("Q: y=47+38, y*2\nA:")
CHOICE = problem_of("Q: 12*3 has tens A<2 B<5 C<8 D more?\nA:")  # 36: B

BY_HAND = {
    "direct, right": (CHAIN, " 47+38=85. 85*2=170. \\boxed{170}", "   ^  ^^^    ^ ^^^^"),
    "worked": (CHAIN, " 47+38:7+8=15,4+3+1=8;85. 85*2=170. \\boxed{170}", "   ^  ^    ^^       ^ ^^    ^ ^^^^"),
    "a wrong result ends the reading": (CHAIN, " 47+38=86. 86*2=172. \\boxed{172}", "   ^  ^^^"),
    "a wrong digit": (CHAIN, " 47+38:7+8=14,4+3+1=8;84. 84*2=168. \\boxed{168}", "   ^  ^    ^^       ^ ^^"),
    "a wrong operation": (CHAIN, " 47-38=9. 9*2=18. \\boxed{18}", "   ^  ^^"),
    "a wrong copy is no copy": (CHAIN, " 47+38=85. 84*2=168. \\boxed{168}", "   ^  ^^^   ^^ ^^^^"),
    "a wrong copy within a worked step": (CHAIN, " 47+38:7+9=16,4+3+1=8;86.", "   ^  ^  ^ ^^       ^ ^^"),
    "a wrong copy in the box": (CHAIN, " 47+38=85. 85*2=170. \\boxed{107}", "   ^  ^^^    ^ ^^^^          ^"),
    "truncated in the right": (CHAIN, " 47+38=85. 85*2:5*2=10,8*", "   ^  ^^^    ^ ^    ^^"),
    "truncated within a wrong step": (CHAIN, " 47+38=8", "   ^  ^^"),
    "ends too early": (CHAIN, " 47+38=85.<|endoftext|>", "   ^  ^^^ ^"),
    "garbage": (CHAIN, "pens=12, 4", "^"),
    "goes on behind the box": (CHAIN, " 47+38=85. 85*2=170. \\boxed{170} 1+1=3.", "   ^  ^^^    ^ ^^^^"),
    "the right letter": (CHOICE, " 12*3=36. \\boxed{B}", "   ^ ^^^         ^"),
    "the wrong letter": (CHOICE, " 12*3=36. \\boxed{C}", "   ^ ^^^         ^"),
    "a letter for a wrong result": (CHOICE, " 12*3=46. \\boxed{B}", "   ^ ^^^"),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_decisions_by_hand(case):
    problem, text, marks = BY_HAND[case]
    assert decision_offsets(problem, text) == [i for i, mark in enumerate(marks) if mark == "^"]


@given(family=st.sampled_from(sorted(FAMILIES)), seed=st.integers(0, 10_000))
def test_a_problem_is_read_from_its_prompt(family, seed):
    problem = FAMILIES[family](generator(seed, "test"))
    assert problem_of(problem.prompt) == problem_of(f"<|user|>{problem.prompt}<|assistant|>") == problem
    assert problem_of(f"Q: 1+2\nA: 1+2=3. 3\n\n{problem.prompt}") == problem  # behind a worked example


@pytest.mark.parametrize("prompt", ["How many? 3+4", "Q: How many pens?\nA:", "Q: 3 and 4\nA:"])
def test_another_prompt_has_no_known_steps(prompt):
    with pytest.raises(ValueError, match="no prompt"):
        problem_of(prompt)


def by_characters(problem: Problem, text: str) -> list[int]:
    """The definition again: the text is read a character at a time, beside every true way that still agrees."""
    marks, at = set(), 0
    for step in problem.steps:
        ways = {" " + step.direct(), " " + step.worked()}
        read, wrong, place = "", False, "left"
        while at < len(text):
            character = text[at]
            if not wrong and not any(way.startswith(read + character) for way in ways):
                wrong = True
                marks.add(at)
            if place == "left" and character in "+-*" and read.strip().isdigit():
                place = "right"
                marks.add(at)
            elif place == "right" and character in "=:" and not read.endswith(("+", "-", "*")):
                place = "result" if character == "=" else "part"
                marks.add(at)
            elif place in ("left", "right") and not character.isdigit() and read + character != " ":
                place = "lost"
            elif place == "result" and character.isdigit():
                marks.add(at)
            elif place == "result":
                place = "result" if character in "=;" else "part"
            elif place == "part" and character in "=;":
                place = "result"
            read, at = read + character, at + 1
            if (read in ways) if not wrong else character == ".":
                break
        if wrong or read not in ways:
            return sorted(marks)
    for i, character in enumerate(f" \\boxed{{{problem.answer}}}"):
        if at + i == len(text):
            break
        if text[at + i] != character or (problem.letter and i == len(" \\boxed{")):
            marks.add(at + i)
        if text[at + i] != character:
            break
    return sorted(marks)


@settings(max_examples=200)
@given(family=st.sampled_from(sorted(FAMILIES)), seed=st.integers(0, 10_000), edits=st.integers(0, 3))
def test_decisions_are_their_definition_on_solutions_with_mistakes(family, seed, edits):
    problem, draw = FAMILIES[family](generator(seed, "test")), random.Random(seed)
    text = problem.solution([draw.random() < 0.5 for _ in problem.steps]) + "<|endoftext|>"
    for _ in range(edits):
        at, new = draw.randrange(len(text)), draw.choice("0123456789+-*=:,;. \\B}x")
        text = draw.choice([text[:at] + new + text[at + 1 :], text[:at] + text[at + 1 :], text[:at], text[:at] + new])
        text = text or " "
    assert decision_offsets(problem, text) == by_characters(problem, text)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(352)


def test_a_token_decides_if_one_of_its_characters_does(tokenizer):
    problem, text, marks = BY_HAND["the wrong letter"]
    ids = tokenizer(text)["input_ids"] + [tokenizer.eos_token_id]
    kept = decision_tokens(tokenizer, problem.prompt, ids)
    texts = [tokenizer.decode([token]) for token in ids]
    assert [own for own, mark in zip(texts, kept, strict=True) if mark] == ["*", "=", "3", "6", "C"]


def test_the_rule_keeps_the_decisions_of_the_responses_and_needs_them():
    mask = torch.tensor([[True, True, True], [True, True, False]])
    tokens = TokenStatistics.from_columns({"logprob": torch.zeros(2, 3), "h1": torch.zeros(2, 3)}, group_size=2)
    decisions = torch.tensor([[True, False, True], [False, True, True]])
    rule = selector("oracle-decisions")
    batch = TokenBatch(tokens, torch.zeros(2), mask, decisions=decisions)
    assert rule(batch, torch.Generator()).tolist() == [[True, False, True], [False, True, False]]
    with pytest.raises(ValueError, match="needs the batch's decisions"):
        rule(TokenBatch(tokens, torch.zeros(2), mask), torch.Generator())
