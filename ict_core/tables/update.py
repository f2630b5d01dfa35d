"""How the optimiser's steps changed the entropies of the sampled states, beside what the theory predicts."""

import pandas as pd

from ict_core.statistics.pairing import limits_by
from ict_core.tables.table import NONE, Table, TableSettings, in_order, percent, with_half
from ict_core.theory.single_logit import LEAST
from ict_core.theory.update import LESS_CHANCE

_COLUMNS = {  # heading -> (measure, regime, factor, decimals)
    "tokens": ("tokens", "all", 1, 0),
    "ΔH1 (mnat)": ("h1_change", "all", 1000, 2),
    "ΔH2 (mnat)": ("h2_change", "all", 1000, 2),
    "H2 moved": ("moved", "all", 100, 1),
    "log-odds follow A": ("follows_advantage", "all", 100, 1),
    "as stated, p > beta": ("statement", "p > beta", 100, 1),
    "as stated, p < beta": ("statement", "p < beta", 100, 1),
    "as predicted, p > beta": ("h2_sign", "p > beta", 100, 1),
    "as predicted, p < beta": ("h2_sign", "p < beta", 100, 1),
    "rank correlation": ("h2_exact_rank", "all", 1, 2),
    "slope": ("h2_exact_slope", "all", 1, 2),
}
_BESIDE_CHANCE = ("follows_advantage", "statement")


def update_table(agreement_means: pd.DataFrame, settings: TableSettings) -> Table:
    row = ["model", "variant", "set"]
    means = agreement_means[~agreement_means["measure"].str.endswith(LESS_CHANCE)]
    orders = {"model": list(means["model"]), "variant": settings.variants, "set": ("kept", "dropped")}
    numbers = in_order(means, **orders)
    limits = limits_by(numbers, [*row, "regime", "measure"])

    def cell(key: tuple[str, ...], measure: str, regime: str, factor: float, decimals: int) -> str:
        text = with_half(limits[*key, regime, measure], decimals, factor)
        if measure not in _BESIDE_CHANCE or text == NONE:
            return text
        return f"{text} ({percent(limits[*key, regime, f'{measure}_chance'][0])})"

    keys = dict.fromkeys(key[:3] for key in limits)
    lines = [(*key, *(cell(key, *column) for column in _COLUMNS.values())) for key in keys]
    readable = pd.DataFrame(lines, columns=[*row, *_COLUMNS])
    caption = (
        "Before and after an optimiser step on the same states: tokens of the sample, at the steps at which the rule "
        "selects. Every cell is one value a run, then its mean over the training seeds ± a 95 % t interval. ΔH1, ΔH2: "
        "mean change in thousandths of a nat. What follows is in percent. H2 moved: by 1e-6 nats or more; the columns "
        "after it are of these tokens. Log-odds follow A: those of the sampled token moved in the direction of its "
        "advantage (A not 0). As stated: H2 moved with the sign of A (beta − p), the paper's statement about the "
        "token's own logit. In parentheses: what the same frequencies of either sign would give by chance. "
        "As predicted: H2 moved with the sign that it would have if this token's logit alone had moved, by the "
        "measured change of its log-odds. Rank correlation (Spearman) and slope (through the origin): of the move of "
        f"H2 on that prediction. A run with fewer than {LEAST} such tokens is left out, {NONE}: every run is; without "
        "±: all but one are, or all values are equal. All tokens together, the first-order prediction, H1, and the "
        "regimes p > 1/e and p < 1/e are in the CSV."
    )
    if readable.empty:
        caption = "No token was sampled before and after an update at which a rule selects."
    return Table(numbers, readable, caption, keys=2)
