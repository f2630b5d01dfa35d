"""A cell's completions of all benchmarks."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ict_core.jobs.command import Given, OneCell, command, prepare, study_to_run
from ict_core.process.startup import loading

if TYPE_CHECKING:
    from ict_core.config.study import Study


def preload(study: "Study") -> None:
    """Import what all generations of a study need."""
    from ict_core.evaluation.answers import unused
    from ict_core.evaluation.engine import preload_engine

    with loading(without=unused(*study.models.values())):
        preload_engine(study.evaluation.engine)


@command("generate")
def run(
    cell: OneCell,
    checkpoint: Given,
    problems: Given,
    out: Given,
    manifest: Given,
    cache: Annotated[Path | None, Option(help="a folder: what is there is not sampled again (default: none)")] = None,
) -> None:
    """Sample a cell's completions."""
    study = study_to_run(cell.study)
    prepare()
    chosen = cell.of(study)
    from ict_core.evaluation.answers import answers
    from ict_core.store import records
    from ict_core.store.manifests import cost, remember_source, write_manifest
    from ict_core.store.manifests import manifest as manifest_of

    started = time.perf_counter()
    remember_source()
    questions, model = records.read_frame(problems, records.PROBLEMS), study.models[chosen.model]
    sampled, facts = answers(checkpoint, model, study.evaluation, questions, chosen.seed, cache)
    completions = sampled[list(records.COMPLETIONS)]
    facts = {
        "stage": "generate",
        **facts,
        "problems_sha256": records.content_hash(problems),
        "completions_sha256": records.frame_hash(completions, records.COMPLETIONS),
        **cost(started, int(completions["tokens"].sum()) - facts["tokens_reused"]),
    }
    write_manifest(manifest, manifest_of(study.stage_config("generate", chosen)) | facts)
    records.write_frame(completions, out, records.COMPLETIONS)
    print(
        f"{facts['engine']} {facts['engine_version']}: {facts['completions']} completions of {facts['tokens']} "
        f"tokens sampled, {facts['completions_reused']} of {facts['tokens_reused']} tokens reused"
    )
