"""Levels of models and their differences from a baseline: over runs if both have several, else over problems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from ict_core.comparison.answers import counted
from ict_core.errors import UserError
from ict_core.statistics.analysis import analyse
from ict_core.statistics.contrasts import Comparisons, verdicts
from ict_core.statistics.deciding import IDENTICAL, MOST_SEEDS, NO_SPREAD, detectable, holm, seeds_needed, two_one_sided
from ict_core.statistics.intervals import LEVEL, Estimate, Floats, over_clusters
from ict_core.statistics.metrics import metric_values, samples_needed
from ict_core.statistics.schemas import ALPHA, AVERAGE, PASS_METRICS, ROUNDING

FEW_PROBLEMS = 100  # with fewer problems the level of a single run has a Bayesian interval too
RUNS, PROBLEMS, CLUSTERS = "runs", "problems", "clusters"
"""The units over which a difference is tested."""

LEVELS = ("model", "benchmark", "metric", "mean", "low", "high", "bayes_low", "bayes_high", "runs", "problems")
DIFFERENCES = (
    *("model", "baseline", "benchmark", "metric", "over", "units", "difference", "low", "high"),
    *("p", "p_adjusted", "p_equivalence_adjusted", "detectable", "needed", "verdict"),
)
_SHARES = (np.arange(1000) + 0.5) / 1000  # values of the mean at which the posterior is evaluated
_CONCENTRATIONS = (np.arange(100) + 0.5) / 100  # quantiles of the prior of d, of equal weight
_MODEL = "compared"  # the model in the frames for `analyse`; the compared models are its variants


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison; values are shares."""

    levels: pd.DataFrame  # columns LEVELS; 95 % intervals for new problems, and for new runs if there are several
    differences: pd.DataFrame  # columns DIFFERENCES: model - baseline, from so many `units`; `needed` show the margin
    notes: tuple[str, ...]  # what the numbers do not say
    margin: float  # models whose difference is within it are equivalent


def compare(
    answers: pd.DataFrame, baseline: str | None = None, margin_points: float = 2.0, power: float = 0.8
) -> Comparison:
    """Compare every model with the baseline, problem by problem.

    If both models have at least two runs with the same numbers, which are not all copies of one another, the test is
    over runs, as in a study: a paired t-test below 10 runs, a sign-flip test from 10 on (`statistics.analysis`).
    Otherwise it is a paired t-test over problems or their clusters (Miller 2024, arXiv:2411.00640), of the means over
    each model's runs. Holm's correction is over all models, for each metric. For single benchmarks, if there are
    several, it is over models and benchmarks.

    Args:
        answers: a row for each sample, with the columns model, problem and correct (0 or 1; missing if not graded), and
            optionally run, benchmark and cluster; or counts, with the columns `ANSWERS`.
        baseline: a model; by default the first.
        margin_points: models whose difference is within this margin are equivalent, percent points.
        power: the power for `detectable` and `needed`.

    Raises:
        UserError: see `counted`; or fewer than two models, an unknown baseline, a margin or power out of range.
    """
    counts = counted(answers)
    models = list(dict.fromkeys(counts["model"]))
    first = models[0] if baseline is None else baseline
    if len(models) < 2:
        raise UserError(f"answers of {models[0]} alone; allowed: of at least two models")
    if first not in models:
        raise UserError(f"baseline: {first!r} is no model of the answers; allowed: {', '.join(models)}")
    if not 0 < margin_points < 100:
        raise UserError(f"margin: {margin_points:g} is not allowed; allowed: points above 0 and below 100")
    if not ALPHA < power < 1:
        raise UserError(f"power: {power:g} is not allowed; allowed: above {ALPHA:g} and below 1")
    metrics = [metric for metric in PASS_METRICS if samples_needed(metric) <= counts["n"].min()]
    runs = {model: set(rows["run"]) for model, rows in counts.groupby("model", sort=False)}
    others = [model for model in models if model != first]
    several = [model for model in models if len(runs[model]) > 1]
    copies = {model for model in several if _are_copies(counts[counts["model"] == model])}
    by_runs = [model for model in others if len(runs[model] & runs[first]) > 1 and not {model, first} <= copies]
    by_problems = [model for model in others if model not in by_runs]
    margin = margin_points / 100
    rows = [
        *_over_runs(counts, first, by_runs, metrics, margin, power),
        *_over_problems(counts, first, by_problems, metrics, margin, power),
    ]
    return Comparison(
        _levels(counts, models, metrics),
        _decided(pd.DataFrame(rows), others),
        tuple(_notes(counts, first, by_runs, by_problems)),
        margin,
    )


def _are_copies(answers: pd.DataFrame) -> bool:
    """Whether all runs of a model have the same numbers on every problem, as at temperature 0."""
    return bool(answers.groupby(["benchmark", "problem"])[["n", "correct"]].nunique().to_numpy().max() == 1)


def _scores(counts: pd.DataFrame, models: Sequence[str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """The answers of these models as the scores of a study, and the model of each variant there."""
    names = {model: f"model {place}" for place, model in enumerate(models)}  # names without a meaning in a study
    rows = counts[counts["model"].isin(models)]
    seeds = pd.factorize(rows["run"], sort=True)[0]
    scores = rows.assign(model=_MODEL, variant=rows["model"].map(names), seed=seeds)
    return scores, {name: model for model, name in names.items()}


def _levels(counts: pd.DataFrame, models: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    scores, model_of = _scores(counts, models)
    found = analyse(scores, list(model_of), Comparisons([], {}, (), 1.0, 0.8))["levels"]
    found = found[found["metric"].isin(metrics)].rename(columns={"seeds": "runs"})
    found = found.assign(model=found["variant"].map(model_of), bayes_low=np.nan, bayes_high=np.nan)
    clusters = _clusters(counts)
    across = _spans_benchmarks(clusters)
    for (model, metric), of_model in found[found["runs"] == 1].groupby(["model", "metric"], sort=False):
        answers = counts[counts["model"] == model]
        values = _values(answers, str(metric))
        for place, row in of_model.iterrows():
            if _is_clustered(clusters):
                level = _over_clusters(values, clusters, row["benchmark"], across).of_share()
                found.loc[place, ["low", "high"]] = [float(level.low), float(level.high)]
            elif row["problems"] < FEW_PROBLEMS and row["benchmark"] != AVERAGE and metric == PASS_METRICS[0]:
                of_benchmark = answers[answers["benchmark"] == row["benchmark"]]
                limits = credible_interval(of_benchmark["n"], of_benchmark["correct"])
                found.loc[place, ["bayes_low", "bayes_high"]] = limits
    return _without_average_of_one(found[list(LEVELS)])


def credible_interval(n: ArrayLike, correct: ArrayLike) -> tuple[float, float]:
    """The central 95 % credible interval of a run's mean share of right answers, over new problems of the same kind.

    For each problem `n` is the number of graded samples, at least 1, and `correct` that of the right ones, (problems,).

    The model of Bowyer, Aitchison and Ivanova 2025 (arXiv:2503.01747): theta ~ Beta(1, 1), d ~ Gamma(1, 1), the
    share of a problem ~ Beta(d theta, d (1 - theta)), its right answers binomial. With one sample per problem d
    drops out, and the posterior is Beta(1 + right, 1 + wrong). Otherwise d is integrated out, and the limits are
    accurate to 0.001.
    """
    samples, right = np.asarray(n, dtype=np.int64), np.asarray(correct, dtype=np.int64)
    tails = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if (samples == 1).all():
        low, high = stats.beta.ppf(tails, 1 + right.sum(), 1 + (samples - right).sum())
        return float(low), float(high)
    cases, counts = np.unique(np.stack([samples, right]), axis=1, return_counts=True)
    d = stats.gamma.ppf(_CONCENTRATIONS, 1.0)[:, None]
    a, b = d * _SHARES, d * (1 - _SHARES)
    logs = sum(
        count * stats.betabinom.logpmf(k, m, a, b) for m, k, count in zip(*cases.tolist(), counts.tolist(), strict=True)
    )
    weights = np.exp(logs - np.max(logs)).sum(axis=0)
    cumulative = np.cumsum(weights) / weights.sum()
    low, high = np.interp(tails, cumulative, _SHARES)
    return float(low), float(high)


def _over_runs(
    counts: pd.DataFrame, first: str, others: Sequence[str], metrics: Sequence[str], margin: float, power: float
) -> Iterator[dict[str, Any]]:
    if not others:
        return
    scores, model_of = _scores(counts, [first, *others])
    baseline, *_ = model_of
    found = analyse(scores, list(model_of), Comparisons([baseline], {}, (), margin, power))["contrasts"]
    for row in found[found["metric"].isin(metrics)].to_dict("records"):
        yield {
            **{str(name): value for name, value in row.items()},
            "model": model_of[row["variant"]],
            "baseline": first,
            "over": RUNS,
            "units": row["seeds"],
            "fewest": row["seeds"],
            "needed": row["seeds_needed"],
            "identical": row["verdict"] == IDENTICAL,
        }


def _over_problems(
    counts: pd.DataFrame, first: str, others: Sequence[str], metrics: Sequence[str], margin: float, power: float
) -> Iterator[dict[str, Any]]:
    clusters = _clusters(counts)
    over = CLUSTERS if _is_clustered(clusters) else PROBLEMS
    units = clusters.groupby("benchmark", sort=False).nunique()
    across = _spans_benchmarks(clusters)
    units[AVERAGE] = clusters.nunique() if across else units.sum()
    for metric in metrics:
        values = {model: _values(counts[counts["model"] == model], metric) for model in (first, *others)}
        for model in others:
            gap = values[model] - values[first]
            for benchmark, number in units.items():
                own = gap if benchmark == AVERAGE else gap.loc[[str(benchmark)]]
                found = _over_clusters(gap, clusters, str(benchmark), across).of_difference()
                effective = round(float(np.nan_to_num(found.df))) + 1  # independent units with these degrees of freedom
                spread = float(found.se) * effective**0.5
                needed = float(seeds_needed(margin, spread, power))
                if np.isinf(needed):  # too many for seeds; with so many units their number goes with the square
                    needed = MOST_SEEDS * (float(detectable(spread, MOST_SEEDS, power)) / margin) ** 2
                yield {
                    "model": model,
                    "baseline": first,
                    "benchmark": benchmark,
                    "metric": metric,
                    "over": over,
                    "units": number,
                    "fewest": number if benchmark != AVERAGE or across else units.min(),  # in a benchmark
                    "difference": float(found.mean),
                    "low": float(found.low),
                    "high": float(found.high),
                    "p": float(found.p),
                    "p_equivalence": float(two_one_sided(found.mean, found.se, found.df, -margin, margin)),
                    "detectable": float(detectable(spread, effective, power)),
                    "needed": np.ceil(needed * number / effective),
                    "identical": bool((own.abs() <= ROUNDING).all()),
                }


def _values(rows: pd.DataFrame, metric: str) -> pd.Series:
    """A metric of one model's answers, the mean over its runs, by benchmark and problem."""
    values = rows.assign(value=metric_values(metric, rows["n"].to_numpy(), rows["correct"].to_numpy()))
    return values.groupby(["benchmark", "problem"], sort=False)["value"].mean()


def _clusters(counts: pd.DataFrame) -> pd.Series:
    """The cluster of every problem, by benchmark and problem."""
    return counts.drop_duplicates(["benchmark", "problem"]).set_index(["benchmark", "problem"])["cluster"]


def _is_clustered(clusters: pd.Series) -> bool:
    return bool(clusters.duplicated().any())


def _spans_benchmarks(clusters: pd.Series) -> bool:
    """Whether a cluster has problems in several benchmarks."""
    return bool(clusters.groupby("benchmark").nunique().sum() > clusters.nunique())


def _over_clusters(values: pd.Series, clusters: pd.Series, benchmark: str, across: bool) -> Estimate:
    """The mean, on one benchmark or averaged over all, of values by benchmark and problem."""
    names = clusters.index.unique("benchmark") if benchmark == AVERAGE else [benchmark]
    blocks: list[Floats] = [values[name].to_numpy(np.float64) for name in names]
    members = [clusters[name].reindex(values[name].index).to_numpy() for name in names]
    return over_clusters(blocks, members, across)


def _decided(rows: pd.DataFrame, others: Sequence[str]) -> pd.DataFrame:
    """The rows with corrected p and verdicts, models in the order of `others`."""
    rows = _without_average_of_one(rows)
    families = rows.groupby([rows["benchmark"] == AVERAGE, "metric"], sort=False)
    rows = rows.assign(**{f"{name}_adjusted": families[name].transform(holm) for name in ("p", "p_equivalence")})
    reasons = [
        (IDENTICAL, rows["identical"]),
        ("one " + rows["over"].str.removesuffix("s"), rows["p"].isna() & (rows["fewest"] == 1)),
        (NO_SPREAD, rows["p_equivalence"].isna()),  # the sign-flip test has a p nevertheless
    ]
    rows = rows.assign(verdict=verdicts(rows, reasons))
    order = rows["model"].map({model: place for place, model in enumerate(others)})
    return rows.iloc[np.argsort(order, kind="stable")][list(DIFFERENCES)].reset_index(drop=True)


def _without_average_of_one(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without the average if there is only one benchmark, which it would repeat."""
    several = rows["benchmark"].nunique() > 2
    return (rows if several else rows[rows["benchmark"] != AVERAGE]).reset_index(drop=True)


def _notes(counts: pd.DataFrame, first: str, by_runs: Sequence[str], by_problems: Sequence[str]) -> Iterator[str]:
    numbers, clustered = counts.groupby("model", sort=False)["run"].agg(set), _is_clustered(_clusters(counts))
    single = [str(model) for model, runs in numbers.items() if len(runs) == 1]
    if by_runs:
        yield (
            f"{', '.join(by_runs)} less {first}: tested over runs, paired by number. Without shared seeds this is right"
            " too. Intervals are for new runs on these problems."
        )
    for model in by_runs:
        if others := numbers[model] ^ numbers[first]:
            left = ", ".join(map(str, sorted(others)))
            yield f"{model} less {first}: the runs {left} are in one of the two alone, so in no difference."
    if by_problems:
        over = "clusters of problems" if clustered else PROBLEMS
        yield (
            f"{', '.join(by_problems)} less {first}: tested over {over}. The intervals are for new problems of this"
            " kind and these very models. Another training run of a method may differ by more."
        )
    several = [model for model in by_problems if min(len(numbers[model]), len(numbers[first])) > 1]
    if unpaired := [model for model in several if len(numbers[model] & numbers[first]) < 2]:
        yield f"{', '.join(unpaired)} less {first}: no two runs have their numbers in both: no pairs of runs."
    if copies := [model for model in several if model not in unpaired]:
        yield f"{', '.join(copies)} less {first}: all runs of each are equal, as at temperature 0, and count as one."
    if single:
        yield f"One run alone: {', '.join(single)}. What another seed would give is in no interval of these."
    if len(single) < len(numbers) and clustered:
        yield "Intervals over runs, and levels of several runs, take every problem for independent of the others."
    if missing := int((counts["sampled"] - counts["n"]).sum()):
        yield f"{missing} of {counts['sampled'].sum()} samples were not graded; they count as neither right nor wrong."
