"""The problems of a study: generated and published evaluation sets in one frame, training problems in another."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ict_core.config import Data, GeneratedBenchmark, PublishedBenchmark, PublishedSet, Study
from ict_core.problems.mini import evaluation_problems, training_problems
from ict_core.seeding import generator


def study_problems(study: Study, mirror: Path | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make or read every problem that a study trains and evaluates on; `mirror` may stand for the hub.

    Returns:
        training and evaluation problems, two frames of ``records.PROBLEMS``. No generated training problem is an
        evaluation problem; published training sets are used as they are.

    Raises:
        UserError: a published set cannot be had or is not the one that its file states.
    """
    check_study_access(study, mirror)
    seed = study.data.seed
    generated = {
        name: (benchmark.family, benchmark.problems)
        for name, benchmark in study.benchmarks.items()
        if isinstance(benchmark, GeneratedBenchmark)
    }
    published = _published(study)
    read = _read([*published, *study.train_sets.values()], mirror, seed)
    made = [evaluation_problems(seed, generated)] if generated else []
    held_out = pd.concat([*made, *read[: len(published)]], ignore_index=True)
    if study.train_sets:
        return _drawn(pd.concat(read[len(published) :], ignore_index=True), study.data), held_out
    if study.data.train_problems is None:
        raise ValueError("a study without training sets gives the number of problems to generate")
    return training_problems(seed, study.data.train_problems, set(held_out["prompt"])), held_out


def _drawn(problems: pd.DataFrame, data: Data) -> pd.DataFrame:
    """As many of the problems as the study asks for, in their order."""
    if data.train_problems is None or data.train_problems == len(problems):
        return problems
    drawn = generator(data.seed, "training sets").choice(len(problems), data.train_problems, replace=False)
    return problems.iloc[sorted(drawn)].reset_index(drop=True)


def check_study_access(study: Study, mirror: Path | None) -> None:
    """Tell, before anything is downloaded, what a study's published sets lack.

    Raises:
        UserError: the mirror is no folder, or there is no token for a gated set of the hub.
    """
    published = [*study.train_sets.values(), *_published(study)]
    if published:
        from ict_core.problems.published import check_access  # imports the `datasets` package

        check_access(published, mirror)


def _published(study: Study) -> list[PublishedBenchmark]:
    return [one for one in study.benchmarks.values() if isinstance(one, PublishedBenchmark)]


def _read(sets: Sequence[PublishedSet], mirror: Path | None, seed: int) -> list[pd.DataFrame]:
    if not sets:
        return []
    from ict_core.problems.published import load_problems  # imports the `datasets` package

    return [load_problems(one, mirror, seed) for one in sets]
