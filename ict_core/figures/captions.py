"""The title and caption of every figure, in the report's order: words alone, so that a page needs no plotting."""

_TEXTS = {
    "reward": (
        "Training reward",
        "Share of the rollouts of a batch that the verifier accepts, a centred mean over 5 optimiser steps. Lines are "
        "means over the training seeds that each panel names, bands run from the lowest to the highest seed. Where "
        "curves are equal, the wide one and the dashed one let each other show.",
    ),
    "entropy": (
        "Token entropy during training",
        "Mean entropy of the policy over all response tokens of a rollout batch: Shannon's H1 above, second-order "
        "Rényi's H2 below. Lines are means over the training seeds that each panel names, bands run from the lowest to "
        "the highest seed; nothing is smoothed.",
    ),
    "pass_at_k": (
        "Pass@k over k",
        "Share of the problems that at least one of k samples solves, averaged over the benchmarks with equal weight. "
        "Lines are means over the training seeds that each panel names, bars 95 % two-way intervals (new runs on new "
        "problems), and every dot is one run; what belongs to one k stands side by side only to be told apart. The "
        "base model, evaluated once, is the dashed grey line.",
    ),
    "thresholds": (
        "The share of tokens kept",
        "Average over the benchmarks against the share of the response tokens that a rule keeps; GRPO keeps all of "
        "them. Bars are 95 % two-way intervals (new runs on new problems) around the mean over the training seeds that "
        "each panel names, every marker is one run, the dashed line is the base model. Rules that keep the same share "
        "stand side by side. Only models that ran at least two shares of one rule are shown.",
    ),
    "forest": (
        "Differences to every baseline",
        "Each method minus each baseline on the average over the benchmarks, in percent points. Thick bars are 95 % t "
        "intervals over paired training seeds (new runs on these problems), thin ones 95 % two-way intervals (new runs "
        "on new problems), every small dot is one pair of runs with the same seed. Filled markers are the comparisons "
        "declared in the ledger of claims; the word at the right is the verdict after the correction for all tests.",
    ),
    "ablations": (
        "Ablations and controls",
        "Each variant minus the one from which it differs in one factor alone, on the average over the benchmarks, in "
        "percent points. A heading names the factor, the variant that is varied and its value in brackets; a line the "
        "value in its place. Thick bars are 95 % t intervals over paired training seeds (new runs on these problems), "
        "thin ones 95 % two-way intervals (new runs on new problems), every small dot is a pair of runs with one seed. "
        "The word at the right is the verdict on the variant after the correction for all tests.",
    ),
    "elbow": (
        "Where the sorted scores bend",
        "The score u (Jensen-Shannon divergence between a token's distribution and its group's mean) of the tokens of "
        "a sequence, sorted from high to low, over the share of the tokens; means over the sampled sequences of the "
        "steps at which the rule selects, bands from the lowest to the highest training seed. A marker is the elbow of "
        "one run: the point of its curve furthest below the chord between the curve's ends (kneedle). A curve that "
        "runs close to its chord has no pronounced elbow. The dotted line is the paper's threshold of 10 %.",
    ),
    "purity": (
        "Token probability and strategy purity",
        "Probability π of a sampled token against the strategy purity β = exp(-H2) of its distribution: the share of "
        "the kept and of the dropped tokens in each cell of a 20 x 20 grid, on a logarithmic colour scale, at the "
        "steps at which the rule selects, tokens of all training seeds together. On the dotted line π = β, where by "
        "the paper's analysis H2 does not change to first order. The numbers are the tokens of the panel and their "
        "mean distance |π - β|.",
    ),
    "statements": (
        "What the paper says of kept tokens and of entropy",
        "Every marker is one run, the bar a 95 % t interval over the training seeds around their mean: it speaks for "
        "new runs on these prompts. Grey: what the paper states. Distance from beta: mean |π - β| of the kept tokens "
        "less that of the dropped ones (paper: below 0). High entropy: share of the kept tokens whose Shannon entropy "
        "lies above the median of their step's sampled tokens (paper: 1.03 : 1 and 0.99 : 1); a rule that keeps every "
        "token has half of them there, but for ties. Probability: mean π of the kept (paper: 0.18 ± 0.09). Elbow: of "
        "the sorted score u, the Jensen-Shannon divergence to the group's mean, whatever the variant's own score "
        "(paper: near 10 %); a run whose curve has none has no marker. Entropy over training: relative change from the "
        "first to the last fifth of the steps (paper: H1 falls, H2 is controlled). Tokens are those of the steps at "
        "which the rule selects.",
    ),
    "forks": (
        "Known forks among the kept tokens",
        "Every rule on the same rollouts, those of the study's first baseline: the share of the known forks that a "
        "rule keeps (recall, above) and the share of the kept tokens that are forks (precision, below) at every "
        "sampled optimiser step, in percent. Forks are the tokens at which a response of the mini world chooses "
        "between a direct and a worked step. Lines are means over the training seeds, bands run from the lowest to "
        "the highest seed. The grey line is what as many tokens have that are drawn at random: a recall equal to the "
        "share kept, a precision equal to the share of forks among all tokens.",
    ),
    "overlap": (
        "How far any two rules agree",
        "Every pair of rules on the same rollouts, those of the study's first baseline. Above the diagonal the Jaccard "
        "index of the tokens that they keep: those that both keep over those that either keeps. Below it Spearman's "
        "correlation of the scores that they rank the response tokens by; a rule that keeps the lowest scores ranks by "
        "their negative, and a dash stands where a rule ranks none. Means over the sampled steps and the training "
        "seeds; a rule whose scope is the batch has the sampled groups for its batch.",
    ),
    "single_logit": (
        "One logit's change and the entropies",
        "The sampled token's logit alone is raised or lowered: the first-order change of H2, -2 d π (π / β - 1), "
        "against the exact one. Same sign: where it can fail; for π < β and a lowered logit, and for π > β and a "
        "raised one, it is right at every step. Sign breaks at: the step beyond which more than 5 % have the other "
        "sign, up on the left of π = β and down on the right; dots are bins of π / β, lines the closed form "
        "ln((2β - π(1 + β)) / (π(1 - β))) for two β. Error: the median of the first-order change's distance from the "
        "exact one, relative to it. Last panel: share for which H1 and H2 change in the same direction, exactly, at a "
        "step of 0.1 nats, over π; the dotted line is 1 / e. To first order they part only where exp(-H1) < π < β. "
        "Grey: random distributions, Dirichlet(concentration) of so many tokens. Coloured: the tokens sampled in "
        "training, the mean over the training seeds in its 95 % t interval.",
    ),
    "update": (
        "An update's change of the entropies",
        "The same states before and after an optimiser step, at the steps at which the rule selects; tokens whose H2 "
        "moved by less than 1e-6 nats are left out. As stated: share whose H2 moved with the sign of A (β - π), A the "
        "advantage. Log-odds follow A: share whose sampled token's log-odds moved in the direction of A. Less chance: "
        "less what the same frequencies of either sign would give if they were independent. As predicted: share whose "
        "H2 moved with the sign that it would have, had this token's logit alone moved, by the measured change of its "
        "log-odds; rank correlation (Spearman) of the two. Every marker is one run, the bar a 95 % t interval over the "
        "training seeds around their mean. A run with fewer than 10 such tokens has no marker.",
    ),
    "components": (
        "What the uncertainty of a level is made of",
        "A bar is the standard error of a method's average over the benchmarks for new runs on new problems, in "
        "percent points; it is divided in proportion to what each source contributes to the variance. More seeds "
        "shrink the first part, more problems the second, both the third, more samples a problem the last.",
    ),
    "length": (
        "Response length and truncation during training",
        "Mean length of the responses of a rollout batch in tokens, and the share of them that were cut off at the "
        "longest length allowed; centred means over 5 optimiser steps. Lines are means over the training seeds that "
        "each panel names, bands run from the lowest to the highest seed.",
    ),
}

TITLES = {name: title for name, (title, _) in _TEXTS.items()}
CAPTIONS = {name: caption for name, (_, caption) in _TEXTS.items()}
