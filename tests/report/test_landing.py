"""The first page of Snakemake's report."""

import yte

from ict_core.report import open_report_on
from ict_core.store import REPOSITORY

TEMPLATE = REPOSITORY / "workflow/report/landing.yaml"


def test_the_report_opens_on_the_answer(tmp_path):
    file = tmp_path / "answer.md"
    file.write_text("**Yes.** <b>x</b>\n\n| a |\n| --- |\n| 1 |\n")
    open_report_on(file)
    text = yte.process_yaml(TEMPLATE.read_text())["Answer"]
    assert text.startswith(".. raw:: html\n\n   <style>")
    assert '\n   <div id="answer">\n   <p><strong>Yes.</strong> &lt;b&gt;x&lt;/b&gt;</p>' in text
    assert all(not line or line.startswith("   ") for line in text.splitlines()[1:])


def test_a_study_that_is_not_finished_says_so(tmp_path):
    open_report_on(tmp_path / "none.md")
    assert "not finished" in yte.process_yaml(TEMPLATE.read_text())["Answer"]
