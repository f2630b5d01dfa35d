"""Every rule on an untrained model's rollouts, prompt by prompt, so that the results apply to new prompts."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.selection.base import Rule
from ict_core.shadow.score import ORDER, applied, composed, overlap, parts
from ict_core.statistics.elbow import POINTS, elbow, mean_sorted_curve
from ict_core.statistics.matching import matched_difference


class Prompts(NamedTuple):
    """R rules on N tokens of G prompts (`group`), all of them one batch."""

    rows: pd.DataFrame  # `records.TOKENS`, sorted by group, rollout and position
    rules: Sequence[Rule]
    weights: NDArray[np.float64]  # (R, N), 0 or 1 for a mask
    scores: Sequence[NDArray[np.float64] | None]  # (N,) for each rule that ranks the tokens, else None

    @classmethod
    def of(cls, tokens: pd.DataFrame, rules: Sequence[Rule], seed: int) -> "Prompts":
        """All rules on all tokens; the seed is for their random draws.

        Raises:
            UserError: a rule reads what is not known of these tokens: true steps, or a score that is not sampled.
        """
        for rule in rules:
            if not rule.sampled:
                key, value = "selector", repr(rule.selector)
                if not rule.traits.known_steps:
                    key, value = "reference", f"with the score {rule.parameters['score']}"
                allowed = "rules of other selectors and references, as in a study of tokens no true steps are known and"
                raise UserError(f"configs/methods/{rule.name}.yaml: {key}: {value}; allowed: {allowed} no such score")
        rows = tokens.sort_values(ORDER, kind="stable", ignore_index=True)
        return cls(rows, rules, *applied(rows, rules, seed))

    def each(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Each prompt with the indices of its tokens."""
        groups = self.rows["group"].to_numpy()
        for group in np.unique(groups).tolist():
            yield group, np.flatnonzero(groups == group)

    def quantities(self) -> pd.DataFrame:
        """A row per (prompt, rule, quantity): columns seed (the prompt), variant (the rule), quantity, `value`.

        The quantities are the columns of :func:`ict_core.shadow.score.parts` except those of forks, with the medians of
        H1 and H2 over all tokens; distance_from_beta, the mean |p - beta| of the kept tokens minus that of the dropped;
        distance_from_beta_matched, the same for tokens of like H1 (:func:`matched_difference`); and elbow, that of the
        rule's sorted scores. NaN if there is none.
        """
        shares, means = parts(self.rows)
        names, frames = [rule.name for rule in self.rules], []
        lowest = [rule.parameters.get("keep") == "rest" for rule in self.rules]
        ranking = [None if low else scores for low, scores in zip(lowest, self.scores, strict=True)]
        for group, at in self.each():
            prompt_parts = shares.iloc[at], means.iloc[at]
            table = composed(*prompt_parts, self.weights[:, at])
            dropped = composed(*prompt_parts, (self.weights[:, at] == 0).astype(np.float64))["distance"]
            table = table.drop(columns=["fork_recall", "fork_precision"]).assign(variant=names, seed=group)
            table["distance_from_beta"] = table["distance"] - dropped
            distance, h1, one_group = prompt_parts[1]["distance"], self.rows["h1"].iloc[at], np.zeros(len(at))
            matched = [matched_difference(distance, weights > 0, h1, one_group) for weights in self.weights[:, at]]
            table["distance_from_beta_matched"] = matched
            table["elbow"] = [np.nan if scores is None else elbow(self._curve(scores, at)) for scores in ranking]
            frames.append(table)
        return pd.concat(frames).melt(["seed", "variant"], var_name="quantity")

    def _curve(self, scores: NDArray[np.float64], at: NDArray[np.int64]) -> NDArray[np.float64]:
        return mean_sorted_curve(scores[at], self.rows["rollout"].to_numpy()[at])

    def curves(self, rule: str) -> pd.DataFrame:
        """Each prompt's mean sorted scores of a rule: columns seed (the prompt), share, score."""
        index = [r.name for r in self.rules].index(rule)
        scores = self.scores[index]
        assert scores is not None
        curves = {group: self._curve(scores, at) for group, at in self.each()}
        shares = np.arange(1, POINTS + 1) / POINTS
        frames = [pd.DataFrame({"seed": g, "share": shares, "score": curve}) for g, curve in curves.items()]
        return pd.concat(frames, ignore_index=True)

    def overlaps(self) -> pd.DataFrame:
        """How far any two rules agree on each prompt's tokens: `records.OVERLAP` with the prompt as seed."""
        names, frames = [rule.name for rule in self.rules], []
        for group, at in self.each():
            scores = [None if values is None else values[at] for values in self.scores]
            frames.append(overlap(self.weights[:, at], scores, names).assign(seed=group))
        return pd.concat(frames, ignore_index=True).assign(step=0)
