"""What is known of each response token under the policy: the one list of statistics, scores and their names.

Its names are what a selection rule asks for, what the statistics of ``tokens.streaming`` are called and, but for
:data:`UNSAMPLED_SCORES`, the columns of the token sample (``records.TOKENS``).
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
"""Each group score by name: the divergence, and the reference distribution that a token's own is compared with.

``position``: the mean over the group's live rollouts at the same position (the paper's). ``leave-one-out``: the same
without the rollout itself. ``sequence``: the mean over the positions of the rollout. ``group``: the mean over all
positions of all rollouts of the group.
"""

UNSAMPLED_SCORES = {
    "js_zeros": GroupScore("js", "position-zeros"),
    "js_uniform": GroupScore("js", "position-uniform"),
}
"""Group scores that are computed for a rule that ranks by them alone, and are no columns of the token sample.

``position-zeros`` and ``position-uniform``: the mean over all G rollouts of the group at the position, where those that
have ended add zeros, or the uniform distribution (``tokens.distributions.whole_group_mean``).
"""

READING_REFERENCES = (
    *("position", "zeros", "padded", "sequence", "group"),
    *("pairwise", "previous", "top", "unigram", "uniform"),
)
"""What P_avg may be at a token of a group of G rollouts (`shadow.readings`).

``position``, ``sequence``, ``group``: as above. ``zeros``, ``padded``: the sum over the live rollouts divided by G, an
ended one being zero or uniform. ``pairwise``: none, the score is the mean over the other live rollouts; their mean
stands for it. ``previous``: the rollout's own distribution one token before; at its first token the same one.
``top``: as position, of distributions cut to their likeliest tokens. ``unigram``: the frequencies of all tokens drawn.
"""

POLICY_STATISTICS = ("logprob", "h1", "h2")
"""Of the token's distribution alone: ln p of the sampled token, Shannon entropy, second-order Renyi entropy; nats."""

STATISTICS = (*POLICY_STATISTICS, *GROUP_SCORES)


def score_name(score: str, reference: str) -> str:
    """The name of a score: of a divergence its name above (else KeyError), of any other its own."""
    names = {group_score: name for name, group_score in (GROUP_SCORES | UNSAMPLED_SCORES).items()}
    if reference == "position" and GroupScore(score, reference) not in names:
        return score
    return names[GroupScore(score, reference)]
