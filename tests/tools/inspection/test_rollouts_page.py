"""The page of a training's kept rollouts in a real browser: hostile texts, filters, shades, a telephone's width."""

import numpy as np
import pandas as pd
import pytest
from fitting import opened
from made_up_groups import HOSTILE, Vocabulary

from ict_core.errors import UserError
from ict_core.store import records
from ict_core.store.layout import MANIFEST, CellFiles, StudyFiles, TrainFiles
from ict_core.store.manifests import write_manifest
from ict_core.tools.inspection.rollouts import rollouts_page

STEPS, GROUPS, SIZE, LENGTH = 6, 3, 4, len(HOSTILE)
PROMPT = "".join(HOSTILE)


def kept(step: int) -> pd.DataFrame:
    """Rollout r of every group is right from step r on; the first has no reward; weights are 0, 1, 2, 0, ..."""
    weights = np.arange(LENGTH, dtype=np.float32) % 3
    rows = [
        ("b", f"p{(step + group) % 5}", step, group, rollout, "text", float(step >= rollout) if rollout else np.nan)
        + (rollout - 1.5, LENGTH, rollout == 3, list(range(LENGTH)))
        + (np.log(np.linspace(1, 0.05, LENGTH, dtype=np.float32)), weights if step else np.ones_like(weights))
        for group in range(GROUPS)
        for rollout in range(SIZE)
    ]
    return pd.DataFrame(rows, columns=list(records.KEPT_ROLLOUTS))


@pytest.fixture
def cell(tmp_path, monkeypatch):
    """A cell whose rewards fall at the end, by a tokenizer whose tokens are the hostile texts."""
    results = tmp_path / "results" / "own"
    cell = results / "m" / "ict-10" / "seed-0"
    train = TrainFiles(CellFiles(cell).train)
    for step in range(STEPS):
        records.write_frame(kept(step), train.rollouts / f"step-{step:06}.parquet", records.KEPT_ROLLOUTS)
    log = pd.DataFrame(0.5, index=range(STEPS), columns=list(records.LOG))
    log = log.assign(step=range(STEPS), selecting=True, tokens=9, reward=[0.8, 0.8, 0.8, 0.1, 0.1, 0.1])
    records.write_frame(log, train.log, records.LOG)
    write_manifest(train.folder / MANIFEST, {"config": {"method": {"random_reward": None}}})
    asked = pd.DataFrame({"benchmark": "b", "problem": [f"p{n}" for n in range(4)]})
    texts = dict.fromkeys(set(records.PROBLEMS) - {"benchmark", "problem"}, PROMPT)
    records.write_frame(asked.assign(**texts), StudyFiles(results).train_problems, records.PROBLEMS)
    monkeypatch.setattr("ict_core.tools.inspection.rollouts.read_tokenizer", lambda _: Vocabulary(HOSTILE))
    return cell


@pytest.fixture(params=[390, 1280])
def tab(request, browser, cell, tmp_path):
    tab, events = opened(browser, tmp_path / "rollouts.html", rollouts_page(cell, most=1000), request.param)
    yield tab
    assert len(events) == 1 and tab.evaluate("window.hit") is None
    assert tab.evaluate("document.documentElement.scrollWidth") == request.param


@pytest.mark.slow
def test_rollouts_are_browsed_by_step_problem_and_reward(tab):
    articles = tab.locator("article")
    assert articles.count() == GROUPS * SIZE and tab.locator(".group").count() == GROUPS  # the first step
    assert tab.locator("img, main script, main style, b b").count() == 0
    assert any("reward lower" in fact for fact in tab.locator("header .facts").all_text_contents())
    tab.get_by_label("Step", exact=True).select_option("2")
    tab.get_by_label("Reward", exact=True).select_option("right")
    assert articles.count() == GROUPS * 2
    tab.get_by_label("next step").click()
    assert articles.count() == GROUPS * 3 and tab.get_by_label("Step", exact=True).input_value() == "3"
    tab.get_by_label("Reward", exact=True).select_option("not graded")
    assert articles.count() == GROUPS
    tab.get_by_label("Reward", exact=True).select_option("all")
    tab.get_by_label("Problem", exact=True).select_option("b, p4")  # of which no text is here
    assert articles.count() == SIZE and tab.locator(".group .source").count() == 0
    tab.get_by_label("Step", exact=True).select_option("")
    tab.get_by_label("Problem", exact=True).select_option("")
    assert articles.count() == 24
    for _ in range(2):
        tab.get_by_role("button", name="Show more").click()
    assert articles.count() == STEPS * GROUPS * SIZE
    assert not tab.get_by_role("button", name="Show more").is_visible()
    tab.locator("svg").click(position={"x": 2, "y": 20})
    assert tab.get_by_label("Step", exact=True).input_value() == "0"


@pytest.mark.slow
def test_tokens_are_shaded_by_probability_or_weight_and_kept_ones_are_marked(tab):
    tab.get_by_label("Step", exact=True).select_option("1")
    first = tab.locator(".text").first.locator(".t")

    def classes(token: str) -> list[list[str]]:
        return [name.split() for name in first.evaluate_all("all => all.map(e => e.className)") if token in name]

    assert len(classes("t")) == LENGTH and len(classes("k")) == sum(n % 3 > 0 for n in range(LENGTH))
    surprise = 1 - np.linspace(1, 0.05, LENGTH)
    assert [int(c[1][1:]) for c in classes("t")] == pytest.approx(np.ceil(10 * surprise - 1e-6), abs=1)
    tab.get_by_label("Shade by", exact=True).select_option("weight")
    assert [int(c[1][1:]) for c in classes("t")] == [(0, 5, 10)[n % 3] for n in range(LENGTH)]
    shown = first.all_text_contents()
    assert [shown[n] for n in range(LENGTH) if HOSTILE[n].isascii() and HOSTILE[n].isalnum()] == [
        text for text in HOSTILE if text.isascii() and text.isalnum()
    ]


def test_a_page_has_whole_batches_evenly_apart_and_a_cell_without_rollouts_is_refused(cell, tmp_path):
    def steps(most):
        text = rollouts_page(cell, most)
        return sorted({int(part.split(",")[0]) for part in text.split('{"step":')[1:] if '"ids"' in part})

    assert steps(3 * GROUPS * SIZE) == [0, 2, 5]
    assert steps(SIZE) == [0] and "at random" not in rollouts_page(cell, SIZE)
    write_manifest(CellFiles(cell).train / MANIFEST, {"config": {"method": {"random_reward": 0.5}}})
    assert "at random" in rollouts_page(cell, SIZE)
    bare = tmp_path / "results" / "own" / "m" / "ict-10" / "seed-1"
    bare.mkdir()
    with pytest.raises(UserError, match="rollouts_mib"):
        rollouts_page(bare, 10)
