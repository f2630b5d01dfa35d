"""Of every table: what names a row of it, what made it, and which runs enter."""

from dataclasses import dataclass

_INTERVALS = "docs/statistics.md#which-interval-speaks-for-what"
_TESTS = "docs/statistics.md#which-test-decides-and-the-verdicts"
_RULES = "docs/methods.md#rules-on-the-same-rollouts"
_STATEMENTS = "docs/methods.md#statements"


@dataclass(frozen=True)
class Origin:
    """Where a table's numbers come from.

    Attributes:
        keys: the columns that name a row.
        made: what made its numbers, in words.
        module: the library's file that does it.
        doc: the page and heading that describe it.
        source: the measured file of the study's folder that it is computed from.
        statistics: the frame of `statistics/` whose row is printed; none where the table is made without.
        runs: the columns that name variants whose runs enter; none where no run does.
        follow: whether `mean` is the first variant's runs' and `difference` that of the runs' paired differences.
    """

    keys: tuple[str, ...]
    made: str
    module: str
    doc: str
    source: str = "scores.parquet"
    statistics: str | None = None
    runs: tuple[str, ...] = ("variant",)
    follow: bool = False


_CONTRAST = (
    "paired by seed; p by the deciding test (t below 10 seeds, sign-flip from there), corrected within the family: "
    "Holm (declared), Benjamini and Hochberg (others)"
)
ORIGINS = {
    "main": Origin(
        keys=("model", "variant", "benchmark", "metric"),
        made="the mean over runs; interval for new runs on new problems (two-way), or over problems for one run",
        module="statistics/levels.py",
        doc=_INTERVALS,
        statistics="levels",
        follow=True,
    ),
    "contrasts": Origin(
        keys=("model", "variant", "baseline", "benchmark", "metric"),
        made=f"variant - baseline, {_CONTRAST}",
        module="statistics/contrasts.py",
        doc=_TESTS,
        statistics="contrasts",
        runs=("variant", "baseline"),
        follow=True,
    ),
    "views": Origin(
        keys=("model", "variant", "baseline", "metric", "view"),
        made="a second view of variant - baseline on the average; it decides nothing",
        module="statistics/views.py",
        doc="docs/statistics.md#what-not-to-use",
        statistics="views",
        runs=("variant", "baseline"),
    ),
    "thresholds": Origin(
        keys=("model", "variant", "metric"),
        made=f"the mean over runs on the average, and its difference from the first baseline, {_CONTRAST}",
        module="tables/comparison.py",
        doc=_TESTS,
        statistics="levels",
        follow=True,
    ),
    "ablations": Origin(
        keys=("model", "factor", "variant", "metric"),
        made=f"the mean over runs on the average, and its difference from the reference, {_CONTRAST}",
        module="tables/comparison.py",
        doc=_TESTS,
        statistics="levels",
        runs=("variant", "reference"),
        follow=True,
    ),
    "shadow": Origin(
        keys=("model", "rollouts", "rule", "quantity"),
        made="the mean over runs of the rule's quantity on the sampled rollouts of the variant `rollouts`",
        module="shadow/score.py",
        doc=_RULES,
        source="shadow.parquet",
        runs=("rollouts",),
    ),
    "forks": Origin(
        keys=("model", "rollouts", "rule", "when", "measure"),
        made="the mean over runs of how many known forks the rule keeps of the rollouts of the variant `rollouts`",
        module="tables/forks.py",
        doc=_RULES,
        source="shadow.parquet",
        runs=("rollouts",),
    ),
    "statements": Origin(
        keys=("model", "variant", "quantity"),
        made="the mean over runs, t interval over seeds, of a quantity of each run's log and token sample",
        module="evidence/measures.py",
        doc=_STATEMENTS,
        source="tokens.parquet",
    ),
    "single_logit": Origin(
        keys=("states", "regime", "shift", "measure"),
        made="the exact change of the entropies by one logit, of drawn distributions or of a model's sampled tokens",
        module="theory/approximation.py",
        doc=_STATEMENTS,
        source="tokens.parquet",
        runs=(),
    ),
    "update": Origin(
        keys=("model", "variant", "set", "regime", "measure"),
        made="the mean over runs of what an update did to its sampled tokens",
        module="theory/update.py",
        doc=_STATEMENTS,
        source="tokens.parquet",
    ),
    "paper": Origin(
        keys=("benchmark", "metric", "variant", "source", "model"),
        made="`paper`: as configs/paper.yaml quotes it; `this study`: the level of the table `main`",
        module="tables/beside_paper.py",
        doc=_INTERVALS,
        statistics="levels",
        follow=True,
    ),
    "compute": Origin(
        keys=("model", "variant", "seed", "stage"),
        made="what the job's own manifest says that it took",
        module="tables/compute.py",
        doc="docs/architecture.md#files-of-a-study",
        source="compute.parquet",
    ),
    "statuses": Origin(
        keys=("model", "variant", "seed"),
        made="shares of the sampled answers by the grader's verdict",
        module="tables/statuses.py",
        doc="docs/grading.md",
    ),
    "components": Origin(
        keys=("model", "variant", "benchmark", "metric", "source"),
        made="the two-way random model's estimate of one source of variance, from all runs and problems of the arm",
        module="statistics/components.py",
        doc=_INTERVALS,
        statistics="components",
    ),
    "contamination": Origin(
        keys=("benchmark",),
        made="counts of evaluation problems that the training problems repeat",
        module="contamination/audit.py",
        doc="docs/contamination.md",
        source="contamination.parquet",
        runs=(),
    ),
    "near_duplicates": Origin(
        keys=("benchmark", "problem", "training_set", "training_problem"),
        made="a pair of evaluation and training problem that are nearly the same",
        module="contamination/audit.py",
        doc="docs/contamination.md",
        source="near_duplicates.parquet",
        runs=(),
    ),
    "completion_probe": Origin(
        keys=("model", "benchmark", "percent"),
        made="the mean over problems of how a base model completes partial questions",
        module="contamination/completion_probe.py",
        doc="docs/contamination.md",
        source="MODEL/base/completion_probe.parquet",
        runs=(),
    ),
}
