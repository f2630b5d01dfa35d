"""The page in a real browser: what a model wrote is shown and never run, and pointing at a token tells of it."""

import math

from fitting import opened
from made_up_groups import HOSTILE, made_up_groups

from ict_core.tools.inspection.page import page, page_data


def test_hostile_text_is_shown_and_not_run(browser, tmp_path):
    groups = made_up_groups(HOSTILE, prompts=1, size=2, length=len(HOSTILE), prompt="".join(HOSTILE))
    kept = {"</script><i>": groups.completion_mask}
    html = page(page_data(groups, kept, "</title><script>window.hit=1</script>", HOSTILE))
    tab, events = opened(browser, tmp_path / "tokens.html", html)
    shown = tab.locator(".text").first.locator(".t").all_text_contents()
    plain = [text for text in HOSTILE if text.isascii() and text.isprintable() and " " not in text]
    assert [text for text, own in zip(shown, HOSTILE, strict=True) if own in plain] == plain
    by_text = dict(zip(HOSTILE, shown, strict=True))
    assert by_text["\x00"] == "U+0000" and by_text["\u202e"] == "U+202E" and by_text["\r\n"] == "U+000D↵\n"
    for number in range(len(HOSTILE)):
        tab.evaluate("n => show(rollouts[0].tokens[n])", number)
    assert tab.evaluate("window.hit") is None and len(events) == 1
    assert tab.locator("img, svg, b b, main script, main style").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") == 1280


def test_pointing_at_a_token_tells_of_it(browser, tmp_path):
    groups = made_up_groups(["one", " two", " three"], prompts=2, size=3, length=12)
    kept = {"all": groups.completion_mask, "high": groups.statistics.h1 > 0.5}
    tab, events = opened(browser, tmp_path / "tokens.html", page(page_data(groups, kept, "title", [])))
    row, t = 3, 2
    text = tab.locator(".text").nth(row)
    text.locator(".t").nth(t).hover()
    lines = tab.locator("#tip").inner_text().replace("\t", " ")
    p, beta = groups.statistics.logprob[row, t].exp().item(), math.exp(-groups.statistics.h2[row, t])
    length = int(groups.completion_mask[row].sum())
    assert f"position {t + 1} of {length}" in lines
    u = groups.statistics["js"][row]
    rank = 1 + int((u > u[t]).sum())
    for name, value in (("β", f"{beta:#.3g}"), ("p", f"{p:#.3g}"), ("u (JS)", f"{u[t]:#.3g} nats")):
        line = next(line for line in lines.splitlines() if line.startswith(f"{name} "))
        assert line.split(" ")[len(name.split())] == value.split()[0]
    assert next(line for line in lines.splitlines() if line.startswith("u (JS)")).split()[-1] == str(rank)
    assert tab.locator(".mate").count() == int(groups.completion_mask[3:, t].sum()) - 1
    tab.keyboard.press("Escape")
    assert not tab.locator("#tip").is_visible() and tab.locator(".mate").count() == 0


def test_controls_shade_and_mark(browser, tmp_path):
    groups = made_up_groups(["one", " two"], prompts=2, size=3, length=12)
    kept = {"all": groups.completion_mask, "high": groups.statistics.h1 > 0.5}
    tab, _ = opened(browser, tmp_path / "tokens.html", page(page_data(groups, kept, "title", [])))
    total = int(groups.completion_mask.sum())
    assert tab.locator(".text .k").count() == total
    tab.get_by_label("Kept by").select_option("high")
    assert tab.locator(".text .k").count() == int(kept["high"].sum())
    assert tab.locator(".text .f").count() == int(groups.forks.sum())
    tab.get_by_label("Shade by").select_option("H1")
    h1 = groups.statistics.h1[groups.completion_mask]
    low, high = h1.min(), h1.max()
    expected = [math.ceil(10 * x - 1e-6) for x in ((h1 - low) / (high - low)).tolist()]
    classes = [name.split() for name in tab.locator(".text .t").evaluate_all("all => all.map(e => e.className)")]
    off = [a for a, b in zip([int(c[1][1:]) for c in classes], expected, strict=True) if a != b]
    assert len(off) <= 1, off  # four digits may lie across a bound
    tab.get_by_label("shade kept tokens only").check()
    assert tab.locator(".text .t:not(.l0):not(.k)").count() == 0
    assert "lowest" in tab.locator(".legend").inner_text()
