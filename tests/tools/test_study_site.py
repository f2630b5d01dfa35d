"""A study's pages as a folder: everything is there, linked and free of the network."""

import re
from html import escape
from pathlib import Path

import pytest

from ict_core.commands.cli import main
from ict_core.evidence.stored import Stored
from ict_core.figures.registry import FIGURES, reads, sentence_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A stored study's, which is found from any folder."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.chdir(folder)
        assert main(["site", "mini-again", "made"]) == 0
    return folder / "made"


def test_the_index_links_every_page_and_every_page_the_index(site):
    index = (site / "index.html").read_text()
    linked = re.findall(r'href="([^"]+)"', index)
    assert sorted(linked) == sorted(path.name for path in site.iterdir() if path.name != "index.html")
    assert {"claims.html", "tables.html", "figures.html"} <= set(linked)
    for name in linked:
        text = (site / name).read_text()
        assert 'href="index.html"' in text and not re.search(r'(src|href)="(https?:)?//', text)


def test_the_pages_have_the_studys_numbers_and_figures(site):
    answer = (ROOT / "results/reference/mini-again/answer.md").read_text()
    gate = re.search(r"\| replica \|.*?\| ([\d.]+ \[.*?\]) \|", answer)[1]
    assert gate in (site / "index.html").read_text()
    stored = list((ROOT / "results/reference/mini-again/figures").glob("*.png"))
    figures = [path for path in stored if sentence_of(path) is None]
    assert 0 < len(figures) < len(stored)  # of those without data nothing is shown
    drawn = (site / "figures.html").read_text()
    assert drawn.count("data:image/png") == len(figures)
    assert all(escape(FIGURES[path.stem].caption, quote=False)[:40] in drawn for path in figures)
    averages = [path for path in figures if "scores" in reads(path.stem)]
    assert drawn.count(escape(Stored(ROOT / "results/reference/mini-again").outside)) == len(averages) > 0
    tables = (site / "tables.html").read_text()
    assert all(
        f"(<code>{path.stem}</code>)</summary>" in tables
        for path in (ROOT / "results/reference/mini-again/tables").glob("*.md")
    )


def test_an_answer_alone_has_an_index_and_token_pages_are_taken_over_with_their_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cell = tmp_path / "results" / "own" / "m" / "ict-10" / "seed-0"
    cell.mkdir(parents=True)
    answer = "Yes, it does. `[` 1.9; `](` 1.7; [`c` d](elsewhere.md)\n"
    (tmp_path / "results" / "own" / "answer.md").write_text(answer)
    assert main(["site", "own", "alone"]) == 0
    index = (tmp_path / "alone" / "index.html").read_text()
    assert "<code>[</code> 1.9; <code>](</code> 1.7; <code>c</code> d" in index and "elsewhere" not in index
    (cell / "tokens.html").write_text("<html><body class='x'>tokens</body></html>")
    assert main(["site", "own", "out"]) == 0
    copied = (tmp_path / "out" / "m" / "ict-10" / "seed-0" / "tokens.html").read_text()
    assert 'href="../../../index.html"' in copied and "tokens" in copied
    assert "m/ict-10/seed-0/tokens.html" in (tmp_path / "out" / "index.html").read_text()
    (tmp_path / "results/own/answer.md").unlink()  # as of a token study, which has no answer
    assert main(["site", "own", "tokens"]) == 0
    assert "m/ict-10/seed-0/tokens.html" in (tmp_path / "tokens/index.html").read_text()


def test_a_folder_that_exists_and_a_study_without_pages_are_refused(tmp_path, capsys, site):
    assert main(["site", "mini", str(site)]) == 2
    assert f"{site}: exists already" in capsys.readouterr().err
    assert main(["site", "nothing", str(tmp_path / "out")]) == 2
    assert "no page of nothing" in capsys.readouterr().err and not (tmp_path / "out").exists()
