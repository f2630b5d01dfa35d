"""Can this study tell rules apart? Its gates with their outcomes, and headroom, rates at an edge, and power."""

import pandas as pd

from ict_core.tables.table import NONE, Table, TableSettings, by_row, p_value, value_text


def validity_table(validity: pd.DataFrame, settings: TableSettings) -> Table:
    readable = pd.DataFrame(
        {
            **validity[["gate", "model", "of"]],
            "value": by_row(validity, ["gate", "value", "low", "high"], value_text),
            "p": by_row(validity, ["p"], p_value),
            "seeds": by_row(validity, ["seeds"], lambda seeds: str(seeds) if seeds else NONE),
            **validity[["asked", "outcome", "because"]].replace("", NONE),
        }
    )
    readable["model"] = readable["model"].replace("", NONE)
    caption = (
        "The study declares no gates (`evidence.validity` in its file): whether it can tell rules of selection apart "
        "was not measured."
        if validity.empty
        else "Values are percent or percent points with the 95 % interval over training runs (over base models where "
        "these are several); the kept share is a ratio with Fieller's interval. `gain` to `oracle` are gates: where "
        "one fails, no comparison of rules on that model is testable. `headroom`: the level of the untrained model. "
        "`rate`: arms whose learning rate lies at the edge of those tried, or that gain at no rate. `detectable`: the "
        "smallest difference that the claims of a family would have found, after their correction."
    )
    return Table(validity, readable, caption, keys=1)
