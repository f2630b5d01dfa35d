"""`ict compare`: results of any harness, with intervals and tests."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ict_core.jobs.command import MODEL_GROUP, command

RUNS = "a log or a folder of logs of lm-evaluation-harness, lighteval or Inspect, or a table; NAME=RUN names the model"


@command("compare", MODEL_GROUP, portable=True, writes="page")
def compare(
    runs: Annotated[list[str], Argument(metavar="RUN...", help=RUNS)],
    baseline: Annotated[str | None, Option(help="the model that others are compared with (default: the first)")] = None,
    margin: Annotated[float, Option(help="percent points within which models are equivalent")] = 2.0,
    power: Annotated[float, Option(help="of the smallest difference found, and of the runs or problems needed")] = 0.8,
    metric: Annotated[str | None, Option(help="which score, where a log has several; 0 or 1 a sample")] = None,
    filter: Annotated[str | None, Option(help="which filter of lm-evaluation-harness, where there are several")] = None,
    cluster: Annotated[
        str | None, Option(help="a field of the problems, or a column, that names their clusters")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="for programs")] = False,
    page: Annotated[Path | None, Option(help="write a page of HTML too, with a forest plot")] = None,
) -> None:
    """Compare models problem by problem, from logs that other tools wrote: differences, intervals, tests, power."""
    from ict_core.comparison import show
    from ict_core.comparison.compare import compare
    from ict_core.comparison.logs import Wanted, read_runs
    from ict_core.store.files import write_text

    answers = read_runs(runs, Wanted(metric, filter, cluster))
    found = compare(answers, baseline, margin, power)
    print(show.as_json(found) if as_json else show.as_text(found), end="")
    if page is not None:
        write_text(page, show.as_page(found))
