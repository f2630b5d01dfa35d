"""The verdicts on a cell's completions."""

import time
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ict_core.jobs.command import Given, StudyFile, command, prepare, study_to_run

if TYPE_CHECKING:
    from ict_core.config.study import Study


def preload(_study: "Study") -> None:
    """Import what a grading needs."""
    from ict_core.grading.grade import grade_completions  # noqa: F401


@command("grade")
def run(
    study: StudyFile,
    completions: Given,
    problems: Given,
    out: Given,
    manifest: Given,
    workers: Annotated[int, Option(help="processes of the grader")] = 1,
) -> None:
    """Grade a cell's completions."""
    loaded = study_to_run(study)
    prepare()
    from ict_core.grading.grade import grade_completions
    from ict_core.store import records
    from ict_core.store.manifests import cost, remember_source, write_manifest
    from ict_core.store.manifests import manifest as manifest_of

    started = time.perf_counter()
    remember_source()
    answers = records.read_frame(completions, records.COMPLETIONS)
    questions = records.read_frame(problems, records.PROBLEMS)
    grades = grade_completions(answers, questions, workers=workers, **loaded.grading.dump())
    facts = {
        "stage": "grade",
        "workers": workers,
        "problems_sha256": records.content_hash(problems),
        "completions_sha256": records.content_hash(completions),
        "grades_sha256": records.frame_hash(grades, records.GRADES),
        **cost(started, tokens=0),
    }
    write_manifest(manifest, manifest_of(loaded.stage_config("grade")) | facts)
    records.write_frame(grades, out, records.GRADES)
    print(grades.groupby("benchmark")["status"].value_counts().unstack(fill_value=0).to_string())
