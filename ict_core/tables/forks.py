"""Recall and precision of the known forks, for every rule on the same rollouts and every method on its own."""

import pandas as pd

from ict_core.evidence.measures import CHANCE, OWN, WHEN
from ict_core.statistics.pairing import seed_range
from ict_core.tables.table import Table, TableSettings, in_order, wide


def forks_table(fork_means: pd.DataFrame, settings: TableSettings) -> Table:
    baseline = settings.baselines[0]
    rules = [*fork_means.loc[fork_means["rollouts"] == baseline, "rule"].unique(), *settings.variants]
    numbers = in_order(fork_means, model=list(fork_means["model"]), rollouts=[baseline, OWN], rule=rules)
    columns: dict[str, str] = {}
    for measure, chance in CHANCE.items():
        columns |= {f"{chance} all": f"{chance} %"} | {f"{measure} {when}": f"{measure} {when}" for when in WHEN}
    cells = numbers.assign(head=numbers["measure"] + " " + numbers["when"])
    readable = wide(cells, ["model", "rollouts", "rule"], "head", columns)
    if numbers.empty:
        caption = "No decision points are known in these problems, so no rule's recall or precision of them is."
    else:
        caption = (
            "The known forks are the tokens at which a response of the mini world chooses between a direct and a "
            "worked step. Recall: the share of them that is kept; precision: the share of the kept tokens that they "
            f"are; in percent, means over {seed_range(numbers['seeds'])} ± half the 95 % t-interval over the seeds, at "
            "the first and the last sampled step and over the tokens of all of them. Above, every rule of the study on "
            f"the same rollouts, those sampled while `{baseline}` trained; then (rollouts: {OWN}) the tokens that each "
            "method kept of its own, at steps at which it selects. Weighted tokens count by weight above, and as kept "
            "below. As many tokens drawn at random have a recall of "
            "`kept %` and a precision of `forks %`."
        )
    return Table(numbers, readable, caption, keys=2)
