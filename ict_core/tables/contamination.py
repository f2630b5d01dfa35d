"""The overlap of the evaluation with the training data: counts by benchmark."""

import pandas as pd

from ict_core.contamination.overlap import COMMON, NGRAM, SHINGLE, SHORTEST, SIMILAR
from ict_core.tables.table import Table, TableSettings, by_row, in_order, number, rare_percent

_HEADS = {
    "repeated": "repeated",
    "exact": "exact",
    "ngram": f"{NGRAM}-gram",
    "short": "too short",
    "similar": "near-duplicate",
    "same_answer": "same answer too",
    "but_for_numbers": "equal but for numbers",
}


def contamination_table(contamination: pd.DataFrame, settings: TableSettings) -> Table:
    numbers = in_order(contamination, benchmark=settings.mirrors)

    def text(count: int, problems: int) -> str:
        return f"{count} ({rare_percent(count / problems)} %)" if count else "0"

    readable = numbers[["benchmark", "problems"]].astype(str)
    for column, head in _HEADS.items():
        readable[head] = by_row(numbers, [column, "problems"], text)
    training = ", ".join(number(count, 0) for count in numbers["training"].unique())
    caption = (
        f"Evaluation problems that are like one of the {training} training problems: questions without their options "
        "and without the instruction, in percent of the benchmark. Nothing was removed. Repeated: stands before in the "
        "same benchmark, options included. Exact: the same question in lower case and without punctuation. "
        f"{NGRAM}-gram: shares {NGRAM} words in a row, or all words of a shorter question, with at most {COMMON} "
        "training questions; a turn of phrase does that too, so it bounds the overlap from above. Too short: fewer "
        f"than {SHORTEST} words, so no n-gram was looked for. Near-duplicate: a Jaccard similarity of {SIMILAR:g} or "
        f"more between the sets of {SHINGLE}-character stretches, exact ones included. Equal but for numbers: the same "
        "wording with other numbers, as problems from one template are by construction."
    )
    return Table(numbers, readable, caption, keys=1)
