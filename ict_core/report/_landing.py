"""The first page of `snakemake --report`: the study's answer, in the place of the graph of its rules."""

import os
from pathlib import Path

_FILE = "ICT_ANSWER"  # the environment variable in which the workflow leaves the file for its template
# Snakemake 9.27 shows every part that docutils makes of a text (encoding, version, ...): only the answer is wanted.
_STYLE = (
    "<style>ul > :has(#answer) ~ *, ul:has(#answer) > :nth-child(2) {display: none} "
    "#answer p {margin: .6rem 0; max-width: 62rem} #answer td, #answer th {padding: .2rem .6rem}</style>"
)


def open_report_on(answer: Path) -> None:
    """Let this process's report open on a study's answer."""
    os.environ[_FILE] = str(answer)


def landing() -> str:
    """The answer as reStructuredText; a sentence where there is none yet."""
    from ict_core.report._claims import body  # not imported where a workflow only names its answer

    try:
        text = body(Path(os.environ[_FILE]).read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = "<p>The study is not finished: there is no answer yet.</p>"
    lines = [_STYLE, '<div id="answer">', *text.splitlines(), "</div>"]
    return ".. raw:: html\n\n" + "\n".join(f"   {line}" for line in lines)
