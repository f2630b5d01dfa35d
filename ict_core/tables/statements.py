"""The paper's statements about kept tokens and about entropy in training, each as a number with its interval."""

import pandas as pd

from ict_core.evidence.measures import QUANTITIES
from ict_core.statistics.pairing import limits_by
from ict_core.tables.table import NONE, Table, TableSettings, in_order, with_half

_COLUMNS = {  # quantity -> heading, decimals of its percentage
    "distance_from_beta": ("|p − beta|, kept less dropped", 2),
    "distance_from_beta_matched": ("at like H1", 2),
    "high_entropy_share_of_kept": ("kept above the median H1", 1),
    "probability_of_kept": ("mean p of kept", 1),
    "elbow": ("elbow of u", 1),
    "h1_change": ("H1 over training", 1),
    "h2_change": ("H2 over training", 1),
}


def statements_table(quantity_means: pd.DataFrame, settings: TableSettings) -> Table:
    numbers = in_order(quantity_means, model=list(quantity_means["model"]), variant=settings.variants)
    numbers.insert(3, "unit", [QUANTITIES[quantity].unit for quantity in numbers["quantity"]])
    limits = limits_by(numbers, ["model", "variant", "quantity"])
    lines = []
    for model, variant in dict.fromkeys(key[:2] for key in limits):
        cells = [
            with_half(limits[model, variant, quantity], decimals, 100, signed="change" in quantity)
            for quantity, (_, decimals) in _COLUMNS.items()
        ]
        lines.append((model, variant, *cells))
    readable = pd.DataFrame(lines, columns=["model", "variant", *(head for head, _ in _COLUMNS.values())])
    caption = (
        "What the paper says of kept tokens and of entropy, in percent, one value a run, then its mean over the "
        "training seeds ± a 95 % t interval. Kept less dropped: the difference of their mean |p − beta| (paper: kept "
        "tokens lie nearer). At like H1: the same within each decile of H1 of a response group. Kept above the median "
        "H1 of their step (paper: 50.7 and 49.7). Mean p of kept (paper: 18 ± 9). Elbow: share of a sequence's tokens "
        "at the elbow of its sorted scores u, the Jensen-Shannon divergence to the group's mean, whatever the "
        "variant's own score (paper: near 10). H1, H2 over training: relative change from the first to the last fifth "
        "of the steps (paper: H1 falls, H2 stays controlled). The warm-up's tokens are left out. "
        f"{NONE}: no such tokens, as where a rule keeps all."
    )
    return Table(numbers, readable, caption, keys=1)
