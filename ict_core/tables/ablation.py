"""Is it the score, or the sparsity? ICT against other scores of the same fraction, and against the controls."""

import pandas as pd

from ict_core.tables.comparison import NOT_IN_STUDY, compared, resolved, side_by_side
from ict_core.tables.layout import listed, seed_range
from ict_core.tables.table import Table

REFERENCE = "ict-10"
FRACTION = 10
SCORES = {
    "ict": "Jensen-Shannon to the group's mean",
    "entropy": "Shannon entropy",
    "kl": "Kullback-Leibler to the group's mean",
    "wasserstein": "1-Wasserstein to the group's mean",
    "tv": "total variation to the group's mean",
    "probability": "probability of the token drawn",
}
CONTROLS = {
    "random-10": "as many tokens, drawn at random",
    "frequent-90": "the tokens that ict-10 leaves out",
    "random-reward": "rewards that do not depend on the answer",
    "null": "no effect is to be found",
}


def _numbers(levels: pd.DataFrame, contrasts: pd.DataFrame, variants: dict[str, str], column: str) -> pd.DataFrame:
    """`comparison.compared` of ict-10 with each variant; `column` says what the variant is."""
    rows = [(model, what, variant) for model in levels["model"].unique() for variant, what in variants.items()]
    named = pd.DataFrame(rows, columns=["model", column, "variant"])
    return compared(levels, contrasts, named, REFERENCE, reference_first=True)


def _caption(numbers: pd.DataFrame) -> str:
    absent = list(numbers.loc[numbers["verdict"] == NOT_IN_STUDY, "variant"].unique())
    return (
        "Average over the benchmarks in percent ± half its 95 % interval for new runs on new problems, and the "
        f"difference (Δ) `{REFERENCE}` − variant in points ± half the 95 % t-interval over "
        f"{seed_range(numbers['seeds'].dropna())}, paired by seed; a verdict speaks of `{REFERENCE}`. "
        f"{resolved(numbers)}" + (f" Not in this study: {listed(absent)}." if absent else "")
    )


def metrics_table(levels: pd.DataFrame, contrasts: pd.DataFrame) -> Table:
    """The ablation of the score: the same fraction of tokens, chosen by another score."""
    variants = {f"{score}-{FRACTION}": words for score, words in SCORES.items()}
    numbers = _numbers(levels, contrasts, variants, "score")
    caption = f"Each variant keeps {FRACTION} % of the tokens of each sequence. {_caption(numbers)}"
    return side_by_side("metrics", numbers, ["model", "variant", "score"], caption)


def controls_table(levels: pd.DataFrame, contrasts: pd.DataFrame) -> Table:
    """The controls: whether ICT's gain is sparsity alone, or comes without a reward."""
    numbers = _numbers(levels, contrasts, {REFERENCE: "the method itself", **CONTROLS}, "what it does")
    return side_by_side("controls", numbers, ["model", "variant", "what it does"], _caption(numbers))
