"""The first-order statement about H2 against the exact change, when one logit alone is raised or lowered."""

import pandas as pd

from ict_core.statistics.pairing import limits_by
from ict_core.statistics.schemas import ALL
from ict_core.tables.table import Table, TableSettings, percent, with_half
from ict_core.theory.single_logit import DRAWS

SIGN_AT, ERROR_AT, TOGETHER_AT = (0.1, 0.5, 1.0, 2.0, 4.0), (0.01, 0.1, 0.5, 1.0), 0.1  # nats


def single_logit_table(single_logit: pd.DataFrame, settings: TableSettings) -> Table:
    """The accuracy of the first-order change of H2, one row per kind of distribution, regime and direction."""
    numbers = single_logit[single_logit["variants"] == ALL].drop(columns="variants").reset_index(drop=True)
    limits = limits_by(numbers.fillna({"shift": 0.0}), ["states", "regime", "measure", "shift"])

    def error(states: str, regime: str, shift: float) -> str:
        median, p95 = (limits[states, regime, measure, shift][0] for measure in ("error_median", "error_p95"))
        return f"{percent(median)} ({percent(p95)})"

    lines = [
        {"states": states, "tokens": regime, "share": with_half(limits[states, regime, "share", 0.0], 1, 100)}
        | {"logit": name}
        | {f"same sign at {d:g}": with_half(limits[states, regime, "same_sign", sign * d], 1, 100) for d in SIGN_AT}
        | {f"error at {d:g}": error(states, regime, sign * d) for d in ERROR_AT}
        | {"H1 with H2": with_half(limits[states, regime, "together", sign * TOGETHER_AT], 1, 100)}
        for states, regime in dict.fromkeys(key[:2] for key in limits if key[1] != "all")
        for name, sign in (("raised", 1), ("lowered", -1))
    ]
    caption = (
        "The change of H2 when the logit of the sampled token alone is raised or lowered by so many nats: the "
        "first-order statement −2 d p (p / beta − 1) against the exact change. Share: of the distributions, percent. "
        "Same sign: percent of them for which both changes have the same sign. Error: the median (95th percentile) of "
        "the first-order change's distance from the exact one, percent of the latter. H1 with H2: percent for which "
        f"both entropies change in the same direction, exactly, at {TOGETHER_AT:g} nats. Dirichlet(c) of V: {DRAWS:,} "
        "random distributions over V tokens with the concentration c. Models: the sampled tokens of all runs, each "
        "training seed's together; ± is a 95 % t interval over the seeds. What is missing from a model's share has an "
        "H2 below 1e-6 nats. The statement's sign is wrong only where p < beta and the logit is raised, or "
        "beta < p < 2 beta / (1 + beta) and it is lowered, beyond d = ln((2 beta − p (1 + beta)) / (p (1 − beta))). "
        "More steps are in the CSV."
    )
    return Table(numbers, pd.DataFrame(lines), caption, keys=3)
