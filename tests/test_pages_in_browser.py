"""Every kind of page that the project makes, on a telephone and on a small screen: nothing is cut, covered or empty."""

import os
from pathlib import Path

import pytest
from fitting import faults

from ict_core.commands.cli import main

ROOT = Path(__file__).resolve().parents[1]
STUDIES = ("mini", "rules", "smollm2-tokens", "readings")  # of each kind one: answer, bench, tokens, readings

pytestmark = pytest.mark.slow


def test_the_measure_finds_what_is_cut_covered_and_empty(browser, tmp_path):
    (tmp_path / "bad.html").write_text(
        "<!doctype html><meta name=viewport content='width=device-width'><p style='width:2000px'>wide</p><p>under</p>"
        "<div style='position:fixed;inset:0;background:#fff'>menu</div><img src='data:image/png;base64,AAAA'>"
    )
    found = "\n".join(faults(browser, tmp_path / "bad.html"))
    assert "cut: wide" in found and "covered by DIV: under" in found and "empty" in found and "the page is" in found


@pytest.mark.parametrize("study", STUDIES)
def test_the_pages_of_a_study(browser, tmp_path, study):
    assert main(["site", study, str(tmp_path / "made")]) == 0
    pages = sorted((tmp_path / "made").rglob("*.html"))
    assert len(pages) >= 3
    assert [fault for page in pages for fault in faults(browser, page)] == []


def test_the_page_of_a_comparison(browser, tmp_path):
    logs = ROOT / "tests/comparison/logs/lm_eval"
    assert main(["compare", str(logs), "--metric", "acc", "--page", str(tmp_path / "page.html")]) == 0
    assert faults(browser, tmp_path / "page.html") == []


def test_the_stored_page_of_tokens(browser):
    assert faults(browser, ROOT / "docs/tokens-example.html") == []


@pytest.mark.long
def test_the_site_of_the_documentation(browser):
    pages = sorted((ROOT / "site").glob("*.html"))
    if not pages:
        (pytest.fail if os.environ.get("REQUIRE_ALL") else pytest.skip)("make site has not run")
    assert [fault for page in pages for fault in faults(browser, page)] == []
