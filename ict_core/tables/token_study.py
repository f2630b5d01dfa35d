"""The tables of a token study: every rule on an untrained model's tokens, and which words each rule keeps."""

from collections.abc import Sequence

import pandas as pd

from ict_core.evidence.measures import RULE_QUANTITIES
from ict_core.statistics.pairing import seed_range
from ict_core.tables.table import NONE, Table, by_row, in_order, number, percent, wide

QUANTITIES = {
    **RULE_QUANTITIES,
    "distance_from_beta": "|p − beta| less dropped",
    "elbow": "elbow",
    "norm_share": "gradient of the weights",
    "cosine": "its cosine",
}
"""Quantities of a token study's frame and their labels."""

WORDS = 8  # tokens shown per rule, both of the most kept and of the most dropped


def token_rules_table(quantity_means: pd.DataFrame, rules: Sequence[str]) -> Table:
    """One row per rule, one column per quantity: means over prompts."""
    rows = quantity_means[quantity_means["quantity"].isin(QUANTITIES)].rename(columns={"variant": "rule"})
    rows = rows.rename(columns={"seeds": "prompts"})
    numbers = in_order(rows, model=list(rows["model"]), rule=rules, quantity=QUANTITIES)
    readable = wide(numbers, ["model", "rule"], "quantity", QUANTITIES)
    answered = "with right and wrong answers"
    of_gradients = (numbers.loc[numbers["quantity"] == name, "prompts"] for name in ("gradient_share", "norm_share"))
    everywhere, logits, weights = (seed_range(rows, "prompt") for rows in (numbers["prompts"], *of_gradients))
    caption = (
        f"Every selection rule on the same answers of the untrained model: means over {everywhere}, each of which "
        "counts once, in percent, ± half the 95 % t-interval over prompts. Kept: of all tokens; of a rule that weighs "
        "them, the effective share (Σw)² / (N Σw²). Gradient: of the sum of the norms of the policy gradient with "
        f"respect to the tokens' logits, |A| times the root of 1 − 2p + beta, on {logits} {answered}. 1 − p: of the "
        "sum of that mass. Of the kept tokens: the share with A > 0 and with A < 0; the share above the median H1 and "
        "H2 of all tokens (a tie is half); their mean place in the response from 0, its first token, to 100, its last; "
        "mean probability p, mean purity beta = exp(−H2), mean distance of the two, and that less the dropped tokens'. "
        "Elbow: of the rule's own sorted scores, in percent of a sequence's tokens. Gradient of the weights, on "
        f"{weights} {answered}: the norm of GRPO's gradient with respect to the model's weights from the kept tokens "
        "alone, over that from all, and the cosine between the two."
    )
    return Table(numbers, readable, caption, 1, "token_rules", "Rules on an untrained model's tokens")


def _lifts(token_texts: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The rows of one kind, with the limits of the lift beside those of the share."""
    rows = token_texts[token_texts["kind"] == kind].drop(columns="kind")
    overall = (rows["share"] / rows["lift"]).groupby([rows["model"], rows["rule"]]).transform("median")  # 0 / 0 is none
    return rows.assign(lift_low=rows["low"] / overall, lift_high=rows["high"] / overall)


def token_classes_table(token_texts: pd.DataFrame, rules: Sequence[str]) -> Table:
    """One row per rule, one column per class of words: the share of the class that is kept over that of all tokens."""
    rows = _lifts(token_texts, "class").rename(columns={"text": "class"})
    classes = list(rows.sort_values("tokens", ascending=False)["class"].unique())
    numbers = in_order(rows, model=list(rows["model"]), rule=rules, **{"class": classes})

    def text(lift: float, low: float, high: float) -> str:
        return f"{number(lift, 2)} ({number(low, 2)}–{number(high, 2)})"

    texts = numbers.assign(text=by_row(numbers, ["lift", "lift_low", "lift_high"], text))
    readable = wide(texts, ["model", "rule"], "class", classes)
    total = rows[rows["rule"].eq(rows["rule"].iloc[0])].groupby("class")["tokens"].sum() if len(rows) else pd.Series()
    shares = ", ".join(f"{name} {percent(total[name] / total.sum())}" for name in classes) if len(rows) else NONE
    caption = (
        "Lift: the share of a class of tokens that a rule keeps over the share that it keeps of all; 1 is chance. In "
        "parentheses the 95 % interval for new prompts (Wilson's, by the effective number of tokens). Form words are "
        "English words of the closed classes (articles, pronouns, prepositions, conjunctions, auxiliaries); a word's "
        f"first token counts as the word. Percent of all tokens: {shares}."
    )
    return Table(numbers, readable, caption, 1, "token_classes", "Content words and form words")


def token_texts_table(token_texts: pd.DataFrame, rules: Sequence[str]) -> Table:
    rows = _lifts(token_texts, "token")
    numbers = in_order(rows[rows["rule"].isin(list(rules))], model=list(rows["model"]), rule=rules)
    lines = []
    for (model, rule), rows_of_rule in numbers.groupby(["model", "rule"], sort=False):
        above = rows_of_rule[rows_of_rule["lift_low"] > 1].sort_values("lift_low", ascending=False, kind="stable")
        below = rows_of_rule[rows_of_rule["lift_high"] < 1].sort_values("lift_high", kind="stable")
        sides = {f"{side} most": _words(words) for side, words in (("keeps", above), ("drops", below))}
        lines.append({"model": model, "rule": rule, **sides, "above / below chance": f"{len(above)} / {len(below)}"})
    caption = (
        "Tokens with at least 20 occurrences in 5 prompts, with the lift of their kept share (1 is chance) and its "
        f"95 % interval for new prompts; the {WORDS} furthest from chance by the nearer limit, each by itself: of so "
        "many, one in twenty lies beyond its interval by chance. A dot is a blank, an arrow a line's end. The last "
        "column counts the tokens whose whole interval lies above and below 1. All are in the CSV."
    )
    readable = pd.DataFrame(lines, columns=["model", "rule", "keeps most", "drops most", "above / below chance"])
    return Table(numbers, readable, caption, 1, "token_texts", "Which tokens are kept and dropped")


def _words(rows: pd.DataFrame) -> str:
    columns = ["text", "lift", "lift_low", "lift_high"]
    words = [
        f"`{text.replace('`', '′')}` {number(lift, 1)} ({number(low, 1)}–{number(high, 1)})"
        for text, lift, low, high in rows.head(WORDS)[columns].itertuples(index=False, name=None)
    ]
    return "; ".join(words) or NONE
