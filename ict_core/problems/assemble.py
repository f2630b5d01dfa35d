"""The problems of a study: generated and published evaluation sets in one frame, training problems in another."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd

from ict_core.config.inputs import Benchmark, GeneratedBenchmark, GeneratorSet, PublishedSet
from ict_core.config.study import Study
from ict_core.problems.mini.problems import evaluation_problems, training_problems
from ict_core.seeding import generator


def study_problems(study: Study, mirror: Path | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make or read every problem that a study trains and evaluates on; `mirror` may stand for the hub.

    Returns two frames of ``records.PROBLEMS``, the training and the evaluation problems. No generated training problem
    is an evaluation problem; published training sets are used as they are.

    Raises:
        UserError: a published set cannot be had or is not the one that its file states.
    """
    check_study_access(study, mirror)
    seed, wanted = study.data.seed, study.data.train_problems
    held_out = benchmark_problems(study.benchmarks, seed, mirror)
    if study.train_sets:
        from ict_core.problems.published.load import load_problems

        parts = [load_problems(one, mirror, seed) for one in study.train_sets.values()]
        problems = pd.concat(parts, ignore_index=True)
        if wanted is not None and wanted != len(problems):
            drawn = generator(seed, "training sets").choice(len(problems), wanted, replace=False)
            problems = problems.iloc[sorted(drawn)].reset_index(drop=True)
        return problems, held_out
    if wanted is None:
        raise ValueError("a study without training sets gives the number of problems to generate")
    return training_problems(seed, wanted, set(held_out["prompt"])), held_out


def benchmark_problems(benchmarks: Mapping[str, Benchmark], seed: int, mirror: Path | None) -> pd.DataFrame:
    """``records.PROBLEMS`` of benchmarks, generated or read: those that `seed` draws; `mirror` may stand for the hub.

    Raises:
        UserError: a published set cannot be had or is not the one that its file states.
    """
    sets = _published(benchmarks)
    _check_access(sets, mirror)
    generated = {
        name: (benchmark.family, benchmark.problems)
        for name, benchmark in benchmarks.items()
        if isinstance(benchmark, GeneratedBenchmark)
    }
    made = [evaluation_problems(seed, generated)] if generated else []
    if sets:
        from ict_core.problems.published.load import load_problems  # which imports the package `datasets`

        made += [load_problems(one, mirror, seed) for one in sets]
    return pd.concat(made, ignore_index=True)


def solved_problems(study: Study, mirror: Path | None) -> pd.DataFrame:
    """``records.SOLUTIONS`` of all problems of a study's training sets.

    Raises:
        UserError: a set has none, cannot be had or is not the one that its file states.
    """
    check_study_access(study, mirror)
    from ict_core.problems.published.load import load_solutions

    parts = [load_solutions(train_set, mirror) for train_set in study.train_sets.values()]
    return pd.concat(parts, ignore_index=True)


def check_study_access(study: Study, mirror: Path | None) -> None:
    """Tell, before anything is downloaded, what a study's published sets lack.

    Raises:
        UserError: the mirror is no folder, or there is no token for a gated set of the hub.
    """
    _check_access([*study.train_sets.values(), *_published(study.benchmarks)], mirror)


def _check_access(sets: Collection[PublishedSet | GeneratorSet], mirror: Path | None) -> None:
    if sets:
        from ict_core.problems.published.load import check_access

        check_access(sets, mirror)


def _published(benchmarks: Mapping[str, Benchmark]) -> list[PublishedSet | GeneratorSet]:
    return [one for one in benchmarks.values() if isinstance(one, PublishedSet | GeneratorSet)]
