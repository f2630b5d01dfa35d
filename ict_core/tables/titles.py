"""The title of every table, in the report's order: words alone, so that a workflow reads them in no time."""

TITLES = {
    "main": "Main results",
    "contrasts": "Contrasts",
    "views": "Second views of the contrasts",
    "thresholds": "Fraction of tokens kept",
    "ablations": "Ablations and controls",
    "shadow": "Rules on the same rollouts",
    "forks": "Known forks among the kept tokens",
    "statements": "What the paper says of kept tokens and of entropy",
    "single_logit": "One logit's change and the entropies",
    "update": "An update's change of the entropies",
    "paper": "Beside the paper's figures",
    "compute": "Compute",
    "statuses": "Answer statuses",
    "components": "Variance components",
    "contamination": "Overlap with the training data",
    "near_duplicates": "Near-duplicates in the training data",
}
