"""Every rule on the same rollouts, those of the first baseline: how much it keeps, and which tokens."""

import pandas as pd

from ict_core.evidence.measures import RULE_QUANTITIES
from ict_core.statistics.pairing import seed_range
from ict_core.tables.table import Table, TableSettings, in_order, wide


def shadow_table(rule_means: pd.DataFrame, settings: TableSettings) -> Table:
    baseline = settings.baselines[0]
    orders = {"model": list(rule_means["model"]), "rule": list(rule_means["rule"])}
    numbers = in_order(rule_means, **orders, quantity=RULE_QUANTITIES)
    readable = wide(numbers, ["model", "rule"], "quantity", RULE_QUANTITIES)
    caption = (
        f"Every selection rule of the study on the same rollouts, those sampled while `{baseline}` trained: means over "
        f"the sampled steps and {seed_range(numbers['seeds'])}, in percent, ± half the 95 % t-interval over the seeds. "
        "A rule is named after the first variant that has it, and is applied from the first step on, without warm-up; "
        "one whose scope is the batch has the sampled groups for its batch. Kept: of all tokens; of a rule that "
        "weighs them, the effective share (Σw)² / (N Σw²). Gradient: of the sum of the norms of the policy "
        "gradient with respect to the tokens' logits, |A| times the root of 1 − 2p + beta. "
        "1 − p: of the sum of that mass. Of the kept tokens: the share with A > 0 and with A < 0; the share above the "
        "median H1 and H2 of the step (a tie is half); their mean place in the response from 0, its first token, to "
        "100, its last; mean probability p, mean purity beta = exp(−H2), mean distance of the two."
    )
    return Table(numbers, readable, caption, keys=1)
