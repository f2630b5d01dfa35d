"""A study's pages as a folder: everything is there, linked, free of the network, and readable on a telephone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from system import chromium

from ict_core.commands.cli import main

ROOT = Path(__file__).parents[2]
MEASURE = "<script>document.title=document.documentElement.scrollWidth+' of '+innerWidth</script>"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site") / "made"
    assert main(["site", "mini", str(out)]) == 0
    return out


def test_the_index_links_every_page_and_every_page_the_index(site):
    index = (site / "index.html").read_text()
    linked = re.findall(r'href="([^"]+)"', index)
    assert sorted(linked) == sorted(path.name for path in site.iterdir() if path.name != "index.html")
    assert {"answer.html", "claims.html", "tables.html", "figures.html"} <= set(linked)
    for name in linked:
        text = (site / name).read_text()
        assert 'href="index.html"' in text and not re.search(r'(src|href)="(https?:)?//', text)


def test_the_pages_have_the_studys_numbers_and_figures(site):
    answer = (ROOT / "results/reference/mini/answer.md").read_text()
    gate = re.search(r"\| replica \|.*?\| ([\d.]+ \[.*?\]) \|", answer)[1]
    assert gate in (site / "answer.html").read_text()
    figures = list((ROOT / "results/reference/mini/figures").glob("*.png"))
    assert (site / "figures.html").read_text().count("data:image/png") == len(figures)
    tables = (site / "tables.html").read_text()
    assert all(f"<h2>{path.stem}</h2>" in tables for path in (ROOT / "results/reference/mini/tables").glob("*.md"))


def test_token_pages_are_taken_over_with_their_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cell = tmp_path / "results" / "own" / "m" / "ict-10" / "seed-0"
    cell.mkdir(parents=True)
    (tmp_path / "results" / "own" / "answer.md").write_text("Yes.\n")
    (cell / "tokens.html").write_text("<html><body class='x'>tokens</body></html>")
    assert main(["site", "own", "out"]) == 0
    copied = (tmp_path / "out" / "m" / "ict-10" / "seed-0" / "tokens.html").read_text()
    assert 'href="../../../index.html"' in copied and "tokens" in copied
    assert "m/ict-10/seed-0/tokens.html" in (tmp_path / "out" / "index.html").read_text()


def test_a_folder_that_exists_and_a_study_without_pages_are_refused(tmp_path, capsys, site):
    assert main(["site", "mini", str(site)]) == 2
    assert f"{site}: exists already" in capsys.readouterr().err
    assert main(["site", "nothing", str(tmp_path / "out")]) == 2
    assert "no page of nothing" in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_window(site, tmp_path, width):
    browser = chromium()
    assert browser is not None
    for source in site.iterdir():
        made = tmp_path / source.name
        made.write_text(source.read_text().replace("</body>", f"{MEASURE}</body>"))
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--dump-dom"]
        command = [browser, *options, f"--user-data-dir={tmp_path / 'profile'}", made.as_uri()]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        needed, there = map(int, re.search(r"<title>(\d+) of (\d+)</title>", dom).groups())
        assert needed <= there, source.name
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)
