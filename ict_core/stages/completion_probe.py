"""Whether a base model knows the rest of the benchmarks' questions."""

from pathlib import Path

from ict_core.config import Study
from ict_core.contamination import completion_probe, templates
from ict_core.evaluation import context_length, engine_version, load_engine, stop_token_ids
from ict_core.store import check_files, records


def run(study: Study, name: str, checkpoint: Path, problems: Path, out: Path) -> None:
    """Ask the base model of that name for the rest of the questions; `out` receives ``records.COMPLETION_PROBE``."""
    check_files(checkpoint)
    evaluation, asked = study.evaluation, records.read_frame(problems, records.PROBLEMS)
    length = context_length(checkpoint, asked, evaluation.max_new_tokens)  # as a part is no longer
    engine = load_engine(evaluation.engine, checkpoint, length, evaluation.threads, study.models[name].dtype)
    stops = stop_token_ids(checkpoint)
    probe = completion_probe(engine, asked, templates(study), stops, evaluation.max_new_tokens)
    records.write_frame(probe, out, records.COMPLETION_PROBE)
    print(f"{engine.name} {engine_version(engine.name)}: {name}, {len(probe)} partial questions")
