"""The statistics and scores of each response token under the policy: the one list of them and their names.

Selection rules ask for these names and ``tokens.streaming`` gives them to its statistics. Except
:data:`UNSAMPLED_SCORES` they are also columns of the token sample (``records.TOKENS``).
"""

from typing import NamedTuple


class GroupScore(NamedTuple):
    """A divergence of the token's own distribution from a reference distribution of its group."""

    divergence: str
    reference: str


GROUP_SCORES = {
    "js": GroupScore("js", "position"),
    "js_leave_one_out": GroupScore("js", "leave-one-out"),
    "js_sequence": GroupScore("js", "sequence"),
    "js_group": GroupScore("js", "group"),
    "kl": GroupScore("kl", "position"),
    "tv": GroupScore("tv", "position"),
    "wasserstein": GroupScore("wasserstein", "position"),
}
"""Each group score by name: the divergence, and the reference with which a token's own distribution is compared.

``position``: the mean over the group's live rollouts at the same position (the paper's). ``leave-one-out``: the same
without the rollout itself. ``sequence``: the mean over the positions of the rollout. ``group``: the mean over all
positions of all rollouts of the group.
"""

UNSAMPLED_SCORES = {
    "js_zeros": GroupScore("js", "position-zeros"),
    "js_uniform": GroupScore("js", "position-uniform"),
}
"""Group scores that a training computes only for a rule that ranks by them; not columns of the token sample.

``position-zeros`` and ``position-uniform``: the mean over all G rollouts of the group at the position, where those that
have ended count as zeros, or as the uniform distribution (``tokens.distributions.whole_group_mean``).
"""

READING_REFERENCES = (
    *("position", "zeros", "padded", "sequence", "group"),
    *("pairwise", "previous", "top", "unigram", "uniform"),
)
"""The choices of P_avg at a token of a group of G rollouts (`shadow.readings`).

``position``, ``sequence``, ``group``: as above. ``zeros``, ``padded``: the mean over all G rollouts at the position; an
ended one counts as zero or as uniform. ``pairwise``: the score is the mean over the other live rollouts, whose mean
takes the place of P_avg. ``previous``: the rollout's own distribution one token before; at its first token itself.
``top``: as position, for distributions cut to their likeliest tokens. ``unigram``: the frequencies of sampled tokens.
"""

POLICY_STATISTICS = ("logprob", "h1", "h2")
"""Statistics of a token's distribution: ln p of the sampled token, Shannon entropy, order-2 Renyi entropy; in nats."""

STATISTICS = (*POLICY_STATISTICS, *GROUP_SCORES)


def score_name(score: str, reference: str) -> str:
    """The name of a score: for a divergence the one above (KeyError if there is none), for any other its own."""
    names = {group_score: name for name, group_score in (GROUP_SCORES | UNSAMPLED_SCORES).items()}
    if reference == "position" and GroupScore(score, reference) not in names:
        return score
    return names[GroupScore(score, reference)]
