"""Published sets on made-up rows: readers, prompts, hashes, and what is said when rows are missing or changed."""

import hashlib
import json

import datasets
import httpx
import pytest
from published_sets import SETS, gpqa_row, stated, write_rows

from ict_core.config.inputs import READERS
from ict_core.errors import UserError
from ict_core.problems.published.load import (
    Item,
    boxed,
    check_access,
    integer,
    label,
    load_problems,
    load_solutions,
    number,
)
from ict_core.problems.published.readers import (
    aime_23,
    aime_24,
    aime_25,
    gpqa,
    gsm8k,
    gsm8k_short,
    math_train,
    mmlu_stem,
)

TOKEN = "hf_madeUpForThisTest"
GSM8K = [{"question": f"How many is {n}?", "answer": f"It is <<{n}={n}>>{n}.\n#### {n:,}"} for n in (7, 1234, 15)]
ITEMS = sorted(gsm8k.read(row) for row in GSM8K)
PLACE = "openai/gsm8k/main/test"
FILE = "configs/benchmarks/gsm8k.yaml"


@pytest.fixture
def no_hub(monkeypatch):
    """No loader and no token: everything is read from local files."""
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("something was downloaded"))
    monkeypatch.setattr("ict_core.problems.published.load.get_token", lambda: None)


def message(published, mirror) -> str:
    with pytest.raises(UserError) as caught:
        check_access([published], mirror)
        load_problems(published, mirror, 0)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_answers_lose_padding_and_separators():
    assert [integer(written) for written in ("051", "000", " 7 ", 999)] == ["51", "0", "7", "999"]
    assert [number(written) for written in (" 1,234", "-5", "2,125,000", "0.5")] == ["1234", "-5", "2125000", "0.5"]
    for written in ("1000", "-1", "", None, True, "3.0", "٣", 12.0):
        with pytest.raises(ValueError, match="no integer from 0 to 999"):
            integer(written)
    for written in ("12,34", "five", "", "1 2"):
        with pytest.raises(ValueError, match="no number"):
            number(written)


def test_a_column_holds_numbers_or_texts():
    wanted = {2.5: "2.5", 5.0: "5", -0.1: "-0.1", 7: "7", " 1,234 ": "1234"}
    assert {value: number(label({"r": value}, "r")) for value in wanted} == wanted
    for value in (float("nan"), float("inf"), True, None, " ", [2.5]):
        with pytest.raises(ValueError, match="holds no text"):
            label({"r": value}, "r")


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"\boxed{1} so \boxed{\frac{a^{2}}{\sqrt{b}}}.", r"\frac{a^{2}}{\sqrt{b}}"),
        (r"\boxed{\left\{ x \mid x > \text{{2}} \right\}}", r"\left\{ x \mid x > \text{{2}} \right\}"),
        (r"is $\boxed 2$.", "2"),
    ],
)
def test_the_last_box_is_the_answer_of_math(solution, answer):
    row = {"problem": "Find\n", "type": "Counting & Probability", "solution": solution}
    item = math_train.read(row)
    assert (item.question, item.answer) == ("Find", answer)
    assert item.id.startswith("counting_and_probability-")
    assert math_train.read({**row, "solution": r"none, so $\boxed{}$"}) is None
    with pytest.raises(ValueError, match="boxed"):
        boxed("no box")


def test_rows_of_each_aime():
    url = "https://made.up/index.php/2023_AIME_II_Problems/Problem_7"
    for stated_as in ({"url": url, "answer": "012"}, {"id": "2023-II-7", "answer": "12"}):
        assert aime_23.read({"problem": "P", **stated_as}) == Item("2023-II-7", "P", "12")
    assert aime_23.read({"url": url.replace("2023", "2022"), "problem": "P", "answer": "1"}) is None
    with pytest.raises(ValueError, match="does not end"):
        aime_23.read({"url": url + "x", "problem": "P", "answer": "1"})
    assert aime_24.read({"id": 60, "problem": "P", "solution": r"\boxed{033}"}) == Item("60", "P", "33")
    assert aime_25.read({"id": "0", "problem": "P", "answer": 70}) == Item("0", "P", "70")


def test_a_row_of_mmlu_has_four_options_and_may_stand_twice(tmp_path, no_hub):
    row = {"subject": "s", "question": "Q", "choices": ["1", " 2", "3", "4"], "answer": 1}
    item = mmlu_stem.read(row)
    assert (item.answer, item.choices) == ("B", ("1", "2", "3", "4"))
    for broken in ({"choices": ["1", "2", "3"]}, {"answer": 4}, {"answer": "B"}):
        with pytest.raises(ValueError):
            mmlu_stem.read(row | broken)
    write_rows(tmp_path, "TIGER-Lab/MMLU-STEM/default/test", [row, row])
    published = stated("mmlu-stem", [item, item._replace(id=f"{item.id}-2")])
    assert list(load_problems(published, tmp_path, 0)["problem"]) == [item.id, f"{item.id}-2"]
    write_rows(tmp_path, "TIGER-Lab/MMLU-STEM/default/test", [row, row | {"answer": 2}])
    assert f"rows have the id '{item.id}'" in message(published, tmp_path)


def test_the_order_of_gpqas_options_comes_from_the_record_and_is_balanced():
    items = [gpqa.read(gpqa_row(number)) for number in range(2000)]
    letters = [item.answer for item in items]
    assert all(430 <= letters.count(letter) <= 570 for letter in "ABCD")  # 500 +- 3.6 standard deviations
    orders = {tuple(choice.rpartition(" ")[0] for choice in item.choices) for item in items}
    assert len(orders) == 24
    for item, row in zip(items, map(gpqa_row, range(2000)), strict=True):
        assert item.choices["ABCD".index(item.answer)] == row["Correct Answer"].strip()
        assert gpqa.read({**row, "Question": "Another?"}).choices == item.choices
    for row, letter in enumerate("AADBBCAB"):  # the same for everyone: the place of the right option's hash of four
        texts = [f"0\x1foptions\x1fstr:rec{row:04d}\x1fint:{option}" for option in range(4)]
        hashes = [hashlib.sha256(one.encode()).hexdigest() for one in texts]
        assert items[row].answer == "ABCD"[sorted(hashes).index(hashes[0])] == letter


@pytest.mark.parametrize("question", ["Which?", "Which?\n\nA) 1\nB) 2\nC) 3\nD) 4", "{options} é \\boxed{} \u2028"])
def test_a_prompt_is_filled_in_one_pass_and_its_parts_are_kept(question, tmp_path, no_hub):
    row = gpqa_row(0) | {"Question": question, "Incorrect Answer 1": "A) a\nB) b", "Incorrect Answer 2": "{question}"}
    write_rows(tmp_path, "Idavidrein/gpqa/gpqa_diamond/train", [row])
    problem = load_problems(stated("gpqa", [gpqa.read(row)]), tmp_path, 0).loc[0]
    options = gpqa.read(row).choices
    assert (problem["question"], tuple(json.loads(problem["options"]))) == (question.strip(), options)
    lines = "\n".join(f"{letter}) {choice}" for letter, choice in zip("ABCD", options, strict=True))
    assert problem["prompt"].startswith(f"{question.strip()}\n\n{lines}\n\nAnswer with")
    assert problem["prompt"].endswith(" within \\boxed{}.")


def test_the_hash_is_of_the_content_alone(tmp_path, no_hub):
    write_rows(tmp_path, PLACE, [{"extra": n, **row} for n, row in enumerate(GSM8K[::-1])])
    published = stated("gsm8k", ITEMS)  # which has the hash by hand
    found = load_problems(published, tmp_path, 0)
    assert found[["problem", "question", "answer"]].values.tolist() == [list(item[:3]) for item in ITEMS]


def test_changed_and_missing_rows_are_named(tmp_path, no_hub):
    published = stated("gsm8k", ITEMS)
    changed = [{**GSM8K[0], "answer": "#### 8"}, *GSM8K[1:]]
    write_rows(tmp_path, PLACE, changed)
    error, found = message(published, tmp_path), stated("gsm8k", [gsm8k.read(row) for row in changed]).sha256
    assert error.startswith(f"{FILE}: sha256: ") and published.sha256 in error and found in error
    write_rows(tmp_path, PLACE, GSM8K[1:])
    assert "rows: 3 stated" in (error := message(published, tmp_path)) and "has 2; " in error


def test_a_broken_mirror_is_named(tmp_path, no_hub):
    published = stated("gsm8k", ITEMS)
    assert "nowhere is no folder" in message(published, tmp_path / "nowhere")
    assert f"no file {tmp_path}/{PLACE}.jsonl" in message(published, tmp_path)
    write_rows(tmp_path, PLACE, [{"question": "Q"}])
    assert "columns: answer not in" in message(published, tmp_path)
    write_rows(tmp_path, PLACE, [GSM8K[0], {"question": "Q", "answer": "5"}])
    assert "row 2 of" in (error := message(published, tmp_path)) and "#### <number>" in error
    file = tmp_path / f"{PLACE}.jsonl"
    unread = dict.fromkeys(["{not", "\xff", "[" * 10**5], "cannot be read: ")
    for broken, told in {**unread, "5": "no JSON object"}.items():
        file.write_bytes(f"{json.dumps(GSM8K[0])}\n{broken}\n".encode("latin-1"))
        assert f"line 2 of {file} " in (error := message(published, tmp_path)) and told in error
    file.write_text("")
    assert f"columns: question, answer not in {file}" in message(published, tmp_path)


def test_a_text_of_a_mirror_that_looks_like_a_date_stays_one(tmp_path, no_hub):
    row = {"question": "2024-01-01", "answer": "#### 1"}
    write_rows(tmp_path, PLACE, [row])
    assert list(load_problems(stated("gsm8k", [gsm8k.read(row)]), tmp_path, 0)["question"]) == ["2024-01-01"]


def test_an_answer_type_that_the_reader_does_not_give_is_named(tmp_path, no_hub):
    write_rows(tmp_path, PLACE, GSM8K)
    assert "answer_type: choice " in message(stated("gsm8k", ITEMS, answer_type="choice"), tmp_path)


def test_a_gated_set_needs_a_token_before_anything_is_downloaded(no_hub):
    error = message(SETS["gpqa"], None)
    assert "gated" in error and "HF_TOKEN" in error and f"/datasets/{SETS['gpqa'].hub}" in error


def test_a_hub_that_is_not_reached_is_tried_once_and_what_stands_for_it_is_named(no_hub, monkeypatch):
    tried = []

    def head(url, **options):
        tried.append(url)
        raise httpx.ConnectError("no route")

    monkeypatch.setattr(httpx, "head", head)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    error = message(stated("gsm8k", ITEMS), None)
    assert len(tried) == 1 and all(word in error for word in ("ConnectError", "--mirror", "HF_HUB_OFFLINE=1"))


def test_the_token_is_in_no_message(monkeypatch):
    def load_dataset(*_, **options):
        assert options["token"] is True
        raise OSError(f"401 for a request\nwith Bearer {TOKEN}")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    error = message(SETS["gpqa"], None)
    assert "cannot be read: OSError: 401" in error and TOKEN not in error


def test_some_problems_are_drawn_from_the_checked_rows(tmp_path, no_hub):
    write_rows(tmp_path, PLACE, GSM8K)
    published = stated("gsm8k", ITEMS, problems=2)
    frames = [load_problems(published, tmp_path, seed) for seed in range(8)]
    assert all(len(frame) == 2 and frame["problem"].is_monotonic_increasing for frame in frames)
    assert frames[0].equals(load_problems(published, tmp_path, 0))
    assert len({tuple(frame["problem"]) for frame in frames}) > 1


def test_every_set_has_a_reader_every_reader_a_set_and_all_ask_for_the_same_box():
    assert {published.reader for published in SETS.values()} == set(READERS)
    asked = r"Let's think step by step and output the final answer within \boxed{}."
    assert all(published.prompt.template.endswith(asked) for published in SETS.values())


@pytest.mark.parametrize(("steps", "read"), [(0, False), (1, True), (2, True), (3, False)])
def test_short_problems_have_one_or_two_marked_steps(steps, read):
    row = {"question": "How many?", "answer": "So <<1+1=2>>2. " * steps + "\n#### 2"}
    assert gsm8k_short.read(row) == (gsm8k.read(row) if read else None)


def test_a_worked_solution_loses_its_marks_and_boxes_its_answer(tmp_path):
    row = {"question": "How many?", "answer": "He has 48/2 = <<48/2=24>>24.\nIn all 1,024 of <<a>>them.\n#### 1,024"}
    assert gsm8k.solution(row) == "He has 48/2 = 24.\nIn all 1,024 of them.\nThe final answer is \\boxed{1024}."
    write_rows(tmp_path, PLACE, [*GSM8K, GSM8K[0]])
    twice = gsm8k.read(GSM8K[0])
    found = load_solutions(stated("gsm8k", [*ITEMS, twice._replace(id=f"{twice.id}-2")]), tmp_path)
    assert list(found["problem"]) == [item.id for item in ITEMS]  # one that stands there twice, once
    first = found.set_index("problem").loc[gsm8k.read(GSM8K[1]).id]
    assert first["prompt"].startswith("How many is 1234? ")
    assert first["completion"] == "It is 1234.\nThe final answer is \\boxed{1234}."


def test_a_set_without_worked_solutions_is_refused(tmp_path):
    with pytest.raises(UserError, match="reader: aime-24 .* allowed: gsm8k, gsm8k-short"):
        load_solutions(SETS["aime-24"], tmp_path)
