"""The declarations of the tables, by name. Only building imports their modules, and pandas."""

from dataclasses import dataclass
from pathlib import Path

from ict_core.statistics.schemas import SIGN_FLIP_FROM
from ict_core.store.layout import StudyFiles

COMPARED = (
    f"paired by seed; p by the deciding test (t below {SIGN_FLIP_FROM} seeds, sign-flip from there), corrected within "
    "the family: Holm (declared), Benjamini and Hochberg (others)"
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a table's numbers come from."""

    keys: tuple[str, ...]  # the columns that identify a row
    made: str  # how its numbers are made, in words
    compared: bool = False  # whether they include the tests of the contrasts
    module: str  # the library's file that computes them
    doc: str  # the page and heading that describe it
    source: str = "scores"  # the measured frame that it is computed from
    statistics: str | None = None  # the frame of `statistics/` that is printed; None where its columns differ
    runs: tuple[str, ...] = ("variant",)  # columns that name the variants whose runs enter, with commas; () if none
    follow: bool = False  # whether `mean` is over the first variant's runs, `difference` over the paired differences

    @property
    def file(self) -> str:
        """The path of the source frame, from the study's folder."""
        return StudyFiles(Path()).frame(self.source).as_posix()

    @property
    def words(self) -> str:
        return f"{self.made}, {COMPARED}" if self.compared else self.made


@dataclass(frozen=True, kw_only=True)
class TableDeclaration(Origin):
    """The declaration of a table, whose module <name> has the function ``<name>_table``.

    The function's arguments are the frames named in `inputs`, by these names, and `settings`, a `TableSettings`.
    """

    title: str  # a few words
    inputs: tuple[str, ...]  # names of frames of `evidence.stored.Stored`


TABLES = {  # by the name of the module that makes it, in the order of the report
    "validity": TableDeclaration(
        title="Validity: can this study tell?",
        inputs=("validity",),
        keys=("gate", "model", "of"),
        made="the gates that the study declares, on base, baseline, its replica, random tokens and the oracle alone",
        module="evidence/gates.py",
        doc="docs/statistics.md#can-the-study-tell",
        runs=("arms",),
    ),
    "main": TableDeclaration(
        title="Main results",
        inputs=("levels", "contrasts"),
        keys=("model", "variant", "benchmark", "metric"),
        made="the mean over runs; interval for new runs on new problems (two-way), or over problems for one run",
        module="statistics/levels.py",
        doc="docs/statistics.md#which-interval-speaks-for-what",
        statistics="levels",
        follow=True,
    ),
    "contrasts": TableDeclaration(
        title="Contrasts",
        inputs=("contrasts", "levels"),
        keys=("model", "variant", "baseline", "benchmark", "metric"),
        made="variant - baseline",
        compared=True,
        module="statistics/contrasts.py",
        doc="docs/statistics.md#which-test-decides-and-the-verdicts",
        statistics="contrasts",
        runs=("variant", "baseline"),
        follow=True,
    ),
    "thresholds": TableDeclaration(
        title="Fraction of tokens kept",
        inputs=("levels", "contrasts"),
        keys=("model", "variant", "metric"),
        made="the mean over runs on the average, and its difference from the first baseline",
        compared=True,
        module="tables/_comparison.py",
        doc="docs/statistics.md#which-test-decides-and-the-verdicts",
        statistics="levels",
        follow=True,
    ),
    "tuning": TableDeclaration(
        title="Tuning",
        inputs=("tuning",),
        keys=("model", "variant", "rate", "seed"),
        made="the mean reward over the last quarter of the steps of a training that served to choose a learning rate",
        module="stages/tune.py",
        doc="docs/statistics.md#equal-tuning",
        source="tuning",
        runs=(),
    ),
    "rates": TableDeclaration(
        title="Own rates and one for all",
        inputs=("tuning", "levels", "contrasts", "shared_rate_levels", "shared_rate_contrasts"),
        keys=("model", "variant", "metric", "rates"),
        made="the mean over runs on the average, and its difference from the first baseline",
        compared=True,
        module="tables/rates.py",
        doc="docs/statistics.md#equal-tuning",
    ),
    "ablations": TableDeclaration(
        title="Ablations and controls",
        inputs=("levels", "contrasts"),
        keys=("model", "factor", "variant", "metric"),
        made="the mean over runs on the average, and its difference from the reference",
        compared=True,
        module="tables/_comparison.py",
        doc="docs/statistics.md#which-test-decides-and-the-verdicts",
        statistics="levels",
        runs=("variant", "reference"),
        follow=True,
    ),
    "shadow": TableDeclaration(
        title="Rules on the same rollouts",
        inputs=("rule_means",),
        keys=("model", "rollouts", "rule", "quantity"),
        made="the mean over runs of the rule's quantity on the sampled rollouts of the variant `rollouts`",
        module="shadow/score.py",
        doc="docs/methods.md#rules-on-the-same-rollouts",
        source="shadow",
        runs=("rollouts",),
    ),
    "forks": TableDeclaration(
        title="Known forks among the kept tokens",
        inputs=("fork_means",),
        keys=("model", "rollouts", "rule", "when", "measure"),
        made="the mean over runs of how many known forks the rule keeps of the rollouts of the variant `rollouts`",
        module="evidence/measures.py",
        doc="docs/methods.md#rules-on-the-same-rollouts",
        source="shadow",
        runs=("rollouts",),
    ),
    "statements": TableDeclaration(
        title="What the paper says of kept tokens and of entropy",
        inputs=("quantity_means",),
        keys=("model", "variant", "quantity"),
        made="the mean over runs, t interval over seeds, of a quantity of each run's log and token sample",
        module="evidence/measures.py",
        doc="docs/methods.md#statements",
        source="tokens",
    ),
    "single_logit": TableDeclaration(
        title="One logit's change and the entropies",
        inputs=("single_logit",),
        keys=("states", "regime", "shift", "measure"),
        made="the exact change of the entropies by one logit, of drawn distributions or of a model's sampled tokens",
        module="theory/single_logit.py",
        doc="docs/methods.md#statements",
        source="tokens",
        runs=(),
    ),
    "update": TableDeclaration(
        title="An update's change of the entropies",
        inputs=("agreement_means",),
        keys=("model", "variant", "set", "regime", "measure"),
        made="the mean over runs of what an update did to its sampled tokens",
        module="theory/update.py",
        doc="docs/methods.md#statements",
        source="tokens",
    ),
    "paper": TableDeclaration(
        title="Beside the paper's figures",
        inputs=("levels",),
        keys=("benchmark", "metric", "variant", "source", "model"),
        made="`paper`: as configs/paper.yaml quotes it; `this study`: the level of the table `main`",
        module="tables/paper.py",
        doc="docs/statistics.md#which-interval-speaks-for-what",
        statistics="levels",
        follow=True,
    ),
    "compute": TableDeclaration(
        title="Compute",
        inputs=("compute", "levels"),
        keys=("model", "variant", "seed", "stage"),
        made="what the job's own manifest says that it took",
        module="tables/compute.py",
        doc="docs/architecture.md#files-of-a-study",
        source="compute",
    ),
    "statuses": TableDeclaration(
        title="Answer statuses",
        inputs=("scores",),
        keys=("model", "variant", "seed"),
        made="shares of the sampled answers by the grader's verdict",
        module="tables/statuses.py",
        doc="docs/grading.md",
    ),
    "contamination": TableDeclaration(
        title="Overlap with the training data",
        inputs=("contamination",),
        keys=("benchmark",),
        made="counts of evaluation problems that the training problems repeat",
        module="contamination/overlap.py",
        doc="docs/contamination.md",
        source="contamination",
        runs=(),
    ),
    "near_duplicates": TableDeclaration(
        title="Near-duplicates in the training data",
        inputs=("near_duplicates",),
        keys=("benchmark", "problem", "training_set", "training_problem"),
        made="a pair of evaluation and training problem that are nearly the same",
        module="contamination/overlap.py",
        doc="docs/contamination.md",
        source="near_duplicates",
        runs=(),
    ),
    "bench": TableDeclaration(
        title="Rules on one bench",
        inputs=(
            "levels",
            "contrasts",
            "shared_rate_contrasts",
            "ranks",
            "tuning",
            "log",
            "quantity_means",
            "rule_means",
        ),
        keys=("model", "variant", "against", "rates"),
        made="the mean over runs of pass@4 on the average, and its difference from the first baseline or a control",
        compared=True,
        module="tables/bench.py",
        doc="docs/rules.md#the-bench",
        runs=("variant", "against"),
    ),
    "batches": TableDeclaration(
        title="The size of a batch",
        inputs=("batches",),
        keys=("model", "variant", "metric"),
        made="the ratio of two gains over the base model, paired by seed, with Fieller's limits",
        module="evidence/batches.py",
        doc="docs/statistics.md#can-the-study-tell",
        statistics="batches",
        runs=("variant", "reference"),
    ),
}
INPUTS = tuple(dict.fromkeys(["levels", *(frame for table in TABLES.values() for frame in table.inputs)]))
"""The frames that the tables are made from. The levels are always among them: they say which variants ran."""
