"""The page's bytes: what a model wrote cannot leave its JSON, and nothing but the page's own script may run."""

import base64
import dataclasses
import hashlib
import json
import math
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_up_groups import HOSTILE, made_up_groups
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from ict_core.store.token_scores import GROUP_SCORES
from ict_core.tools.inspection.page import page, page_data

ROOT = Path(__file__).resolve().parents[3]


class Elements(HTMLParser):
    """The elements of a page, with their attributes and the text in them, as HTML reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[list] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append([tag, dict(attrs), ""])
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.found and self.inside:
            self.found[-1][2] += data

    def one(self, tag: str, **attrs: str) -> tuple[dict, str]:
        ((_, found, text),) = [e for e in self.found if e[0] == tag and attrs.items() <= e[1].items()]
        return found, text


@pytest.fixture(scope="module")
def hostile() -> tuple[dict, str]:
    groups = made_up_groups(HOSTILE, prompts=2, size=3, length=len(HOSTILE), prompt="".join(HOSTILE))
    data = page_data(groups, {"</script><i>": groups.completion_mask}, "</title><script>hit=1</script>", HOSTILE)
    return data, page(data)


def test_the_stored_example_is_the_page_that_its_data_make_today():
    """docs/study.md has the command; where it differs, make it anew."""
    stored = (ROOT / "docs/tokens-example.html").read_text(encoding="utf-8")
    data = json.loads(Elements(stored).one("script", id="data")[1])
    assert len(data["groups"]) == 3 and len(data["rules"]) == 3 and len(stored) < 300_000
    assert page(data) == stored


def test_words_of_a_sentencepiece_tokenizer_stand_apart():
    pieces = ["▁two", "▁word", "s", "▁", "."]
    tokenizer = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(pieces)}, "."))
    tokenizer.decoder = decoders.Metaspace()  # drops the blank before the first word that it is given
    groups = made_up_groups(pieces, prompts=1, size=2, length=9)
    spoken = dataclasses.replace(groups, tokenizer=PreTrainedTokenizerFast(tokenizer_object=tokenizer))
    assert spoken.tokenizer.decode([0]) == "two" and spoken.tokenizer.decode([0, 1, 2]) == "two words"
    assert page_data(spoken, {}, "a", [])["vocabulary"] == dict(enumerate([" two", " word", "s", " ", "."]))


def test_what_a_model_wrote_stays_inside_its_json(hostile):
    data, text = hostile
    before, start, rest = text.partition('<script type="application/json" id="data">')
    inside, end, after = rest.partition("</script>")
    assert inside.isascii() and not set(inside) & set("<>&") and not re.search(r"[\x00-\x1f]", inside)
    assert json.loads(inside) == json.loads(json.dumps(data))
    assert set(json.loads(inside)["vocabulary"].values()) == set(HOSTILE)
    harmless = page(page_data(made_up_groups(["a"], prompts=1, size=2, length=3), {}, "a", []))
    title = "&lt;/title&gt;&lt;script&gt;hit=1&lt;/script&gt;"
    assert before.replace(title, "a") == harmless.partition(start)[0]
    assert after == harmless.partition(start)[2].partition(end)[2]


def test_elements_are_the_templates_own(hostile):
    elements = Elements(hostile[1])
    assert Counter(e[0] for e in elements.found) == Counter(
        ["html", "head", "meta", "meta", "meta", "title", "style", "body", "noscript", "script", "script"]
    )
    assert elements.one("title")[1].strip() == "Tokens of </title><script>hit=1</script>"


def test_only_the_pages_own_script_and_style_may_run(hostile):
    elements = Elements(hostile[1])
    policy = elements.one("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    (script,) = [text for tag, attrs, text in elements.found if tag == "script" and not attrs]

    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    style = elements.one("style")[1]
    none = dict.fromkeys(["default-src", "base-uri", "form-action"], "'none'")
    assert directives == {**none, "style-src": allowed(style), "script-src": allowed(script)}
    assert not re.search(r"https?:|url\(|@import|\bsrc\b|href", style + script)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(", script)


def test_data_are_the_groups(hostile):
    groups = made_up_groups(list("abc"), prompts=2, size=3, length=7)
    groups.forks[2:] = math.nan
    kept = {"one": groups.statistics.h1 > 0.5, "none": groups.completion_mask & False}
    data = page_data(groups, kept, "title", ["fact"])
    rollouts = [rollout for group in data["groups"] for rollout in group["rollouts"]]
    assert [group["problem"] for group in data["groups"]] == ["made-up-0", "made-up-1"]
    assert {tuple(rollout["columns"]) for rollout in rollouts} == {("logprob", "h1", "h2", *GROUP_SCORES)}
    for row, rollout in enumerate(rollouts):
        on = groups.completion_mask[row]
        assert rollout["ids"] == groups.completion_ids[row][on].tolist()
        for name in ("h1", "h2", "js", "wasserstein"):
            assert rollout["columns"][name] == pytest.approx(groups.statistics.score(name)[row][on].tolist(), rel=1e-3)
        assert rollout["columns"]["logprob"] == pytest.approx(groups.statistics.logprob[row][on].tolist(), rel=1e-3)
        assert rollout["kept"] == [[t for t, h in enumerate(groups.statistics.h1[row]) if on[t] and h > 0.5], []]
        forks = [t for t, mark in enumerate(groups.forks[row]) if mark == 1]
        assert rollout["forks"] == (forks if row < 2 else None)
        assert rollout["likeliest"] == groups.alternatives.ids[row][on].tolist()
    assert rollouts[-1]["reward"] is None and rollouts[-1]["advantage"] == 0
    assert {rollout["reward"] for rollout in rollouts[:-1]} == {0.0, 1.0}
