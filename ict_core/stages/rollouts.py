"""An untrained model's answers with their tokens, to be read: those that the evaluation has, if it has them."""

from pathlib import Path

from ict_core.config import BASE_VARIANT, Cell, Study
from ict_core.errors import UserError
from ict_core.grading import grade_completions
from ict_core.stages.generate import sample
from ict_core.store import records, remember_source


def run(study: Study, name: str, checkpoint: Path, problems: Path, cache: Path, out: Path) -> None:
    """Sample and grade a base model's answers into ``records.ROLLOUTS``; UserError where groups differ in size."""
    remember_source()
    sizes = {study.evaluation.samples_for(benchmark) for benchmark in study.benchmarks}
    if len(sizes) > 1:
        raise UserError(f"evaluation.samples_of: {sorted(sizes)} samples; allowed in a token study: one number for all")
    completions, facts = sample(study, Cell(name, BASE_VARIANT, 0), checkpoint, problems, cache)
    asked = records.read_frame(problems, records.PROBLEMS)
    answers = completions[list(records.COMPLETIONS)]
    grades = grade_completions(answers, asked, workers=study.evaluation.threads, **study.grading.dump())
    rollouts = completions.assign(status=grades["status"].to_numpy())
    records.write_frame(rollouts[list(records.ROLLOUTS)], out, records.ROLLOUTS)
    tokens = completions["tokens"].sum()
    print(
        f"{facts['engine']} {facts['engine_version']}: {len(rollouts)} answers of {tokens} tokens, "
        f"{facts['completions_reused']} reused; {(rollouts['status'] == 'correct').mean():.1%} right"
    )
