"""The verdicts on a cell's completions."""

import time
from pathlib import Path

from ict_core.config import Study
from ict_core.grading import grade_completions
from ict_core.store import cost, manifest, records, remember_source, write_manifest


def run(study: Study, completions: Path, problems: Path, workers: int, out: Path, manifest_file: Path) -> None:
    """Grade a cell's completions in so many processes; `out` receives ``records.GRADES``."""
    started = time.perf_counter()
    remember_source()
    answers = records.read_frame(completions, records.COMPLETIONS)
    asked = records.read_frame(problems, records.PROBLEMS)
    grades = grade_completions(answers, asked, workers=workers, **study.grading.dump())
    facts = {
        "stage": "grade",
        "workers": workers,
        "problems_sha256": records.content_hash(problems),
        "completions_sha256": records.content_hash(completions),
        "grades_sha256": records.frame_hash(grades, records.GRADES),
        **cost(started, tokens=0),
    }
    write_manifest(manifest_file, manifest(study.stage_config("grade")) | facts)
    records.write_frame(grades, out, records.GRADES)
    print(grades.groupby("benchmark")["status"].value_counts().unstack(fill_value=0).to_string())
