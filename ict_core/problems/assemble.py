"""The problems of a study: generated and published evaluation sets in one frame, training problems in another."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ict_core.config.inputs import Benchmark, GeneratedBenchmark, GeneratorSet, PublishedSet
from ict_core.config.study import Study
from ict_core.problems.mini.problems import evaluation_problems, training_problems
from ict_core.seeding import generator


def study_problems(study: Study, mirror: Path | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make or read every problem that a study trains and evaluates on; `mirror` may replace the hub.

    Returns two frames of ``records.PROBLEMS``, the training and the evaluation problems. No generated training problem
    is an evaluation problem; published training sets are used unchanged.

    Raises:
        UserError: a published set cannot be read or is not the one that its file states.
    """
    check_study_access(study, mirror)
    seed, count = study.data.seed, study.data.train_problems
    held_out = benchmark_problems(study.benchmarks, seed, mirror)
    if study.train_sets:
        from ict_core.problems.published.load import load_problems

        parts = [load_problems(train_set, mirror, seed) for train_set in study.train_sets.values()]
        problems = pd.concat(parts, ignore_index=True)
        if count is not None and count != len(problems):
            drawn = generator(seed, "training sets").choice(len(problems), count, replace=False)
            problems = problems.iloc[sorted(drawn)].reset_index(drop=True)
        return problems, held_out
    assert count is not None  # as the study's file is checked
    return training_problems(seed, count, set(held_out["prompt"])), held_out


def benchmark_problems(benchmarks: Mapping[str, Benchmark], seed: int, mirror: Path | None) -> pd.DataFrame:
    """``records.PROBLEMS`` of benchmarks, generated or read, drawn by `seed`; `mirror` may replace the hub.

    Raises:
        UserError: a published set cannot be read or is not the one that its file states.
    """
    generated = {
        name: (benchmark.family, benchmark.problems)
        for name, benchmark in benchmarks.items()
        if isinstance(benchmark, GeneratedBenchmark)
    }
    made = [evaluation_problems(seed, generated)] if generated else []
    if sets := _published(benchmarks):
        from ict_core.problems.published.load import check_access, load_problems  # imports the package `datasets`

        check_access(sets, mirror)
        made += [load_problems(published_set, mirror, seed) for published_set in sets]
    return pd.concat(made, ignore_index=True)


def solved_problems(study: Study, mirror: Path | None) -> pd.DataFrame:
    """``records.SOLUTIONS`` of all problems of a study's training sets.

    Raises:
        UserError: a set has no solutions, cannot be read or is not the one that its file states.
    """
    check_study_access(study, mirror)
    from ict_core.problems.published.load import load_solutions

    parts = [load_solutions(train_set, mirror) for train_set in study.train_sets.values()]
    return pd.concat(parts, ignore_index=True)


def check_study_access(study: Study, mirror: Path | None) -> None:
    """Check that a study's published sets are accessible, before anything is downloaded.

    Raises:
        UserError: the mirror is no folder, or there is no token for a gated set of the hub.
    """
    if sets := [*study.train_sets.values(), *_published(study.benchmarks)]:
        from ict_core.problems.published.load import check_access

        check_access(sets, mirror)


def _published(benchmarks: Mapping[str, Benchmark]) -> list[PublishedSet | GeneratorSet]:
    return [benchmark for benchmark in benchmarks.values() if isinstance(benchmark, PublishedSet | GeneratorSet)]
