from snakemake.utils import min_version

min_version("9.0")

import functools
import json
import math
import os
import re
import sys
from pathlib import Path

from ict_core.config.inputs import READERS, PublishedSet
from ict_core.config.load import check_sources, load_study
from ict_core.config.study import trials
from ict_core.config.study_file import Cell
from ict_core.errors import Damaged, UserError
from ict_core.evidence.cells import counted
from ict_core.evidence.tuning import tried_in
from ict_core.figures.registry import figures_of, reads
from ict_core.jobs import launch as job
from ict_core.jobs.causes import failures, log_times
from ict_core.jobs.damage import damaged, set_aside
from ict_core.process.environment import (
    applicable_lock,
    check_environment,
    check_trackers,
)
from ict_core.process.failures import check_room, explain
from ict_core.process.forkserver import begin_run
from ict_core.process.job_log import JOB
from ict_core.process.snakemake import hold_folder
from ict_core.selection.registry import rule_module
from ict_core.statistics.schemas import STATISTICS as MADE
from ict_core.statistics.schemas import statistics_of
from ict_core.store.code import fingerprint
from ict_core.store.declared import values_hash
from ict_core.store.layout import (
    BASE_VARIANT,
    COMPLETIONS_CACHE,
    FIGURE_KINDS,
    FRAMES,
    LEARNING_CURVE,
    TABLE_KINDS,
    TOKEN_FRAMES,
    StoredCellFiles,
    StudyFiles,
    cell_folder,
    cells_folder,
    repository,
    stored_folder,
    study_file,
    study_folder,
    trained_model,
)
from ict_core.store.manifests import read_manifest
from ict_core.tables.registry import INPUTS as TABLE_INPUTS
from ict_core.tables.registry import TABLES
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

# From this file's place, as the Snakefile that was called may use the workflow as a module.
ROOT = Path(str(workflow.current_basedir)).parents[1]
# Jobs run the library whose hashes are taken here, whatever checkout `ict` is of.
if (ROOT / "ict_core").is_dir():
    searched = filter(None, [str(ROOT.resolve()), os.environ.get("PYTHONPATH")])
    os.environ |= {"PYTHONPATH": os.pathsep.join(searched)}
# And the commands of this Python's environment, whose packages are checked here.
commands = [str(Path(sys.executable).parent), *os.get_exec_path()]
os.environ |= {"PATH": os.pathsep.join(commands)}
os.environ[JOB] = "1"
DEFAULT_STUDY = "configs/studies/mini.yaml"
ANSWERS_PER_GRADER = 10_000  # of one cell; each grader takes a thread
UNSTATED = {"mem_mb": 8000, "runtime": 120}  # for a model whose file states no hardware

IS_ALONE = workflow.is_main_process and hold_folder(Path(".snakemake"))


def say_few(record):
    """Print how many files a job gathers, not a list of many, which would hide the last lines of a run."""
    if hasattr(record, "rule_name") and len(getattr(record, "input", [])) > 20:
        record.input = [f"{len(record.input)} files"]
        record.reason = record.reason.partition(":")[0]
    return True


logger.addFilter(say_few)


def in_words(error):
    """A WorkflowError for an error of the operating system."""
    known = explain(error, "snakemake", study_folder(STUDY.name)) or error
    return WorkflowError(str(known))


def set_damaged_aside(record):
    """Set damaged outputs aside when a run starts, before it plans: other commands, and a dry run, only look."""
    started = getattr(record, "event", None) is LogEvent.WORKFLOW_STARTED
    if started and not workflow.output_settings.dryrun:
        try:
            for output in DAMAGED:
                logger.warning(f"{output}: kept as {set_aside(output)}")
        except OSError as error:
            raise in_words(error) from None
    return True


def given_study():
    """The study file: from `--config=study=NAME` or --configfile, or the default one."""
    given = dict(arg.split("=", 1) for arg in workflow.config_settings.config_args)
    named = [study_file(given.pop("study"))] if "study" in given else []
    if given:
        raise WorkflowError(
            f"--config={next(iter(given))}: other values are not checked, so edit a copy of the study file;"
            " allowed: --config=study=NAME, or study=FILE"
        )
    files = [Path(os.path.relpath(f)) for f in [*named, *workflow.configfiles]]
    if len(files) > 1:
        raise WorkflowError(
            f"give one study, not {len(files)}: {', '.join(map(str, files))};"
            " write --config=study=NAME or --configfile=FILE"
        )
    return files[0] if files else Path(DEFAULT_STUDY)


def own(file):
    """A file of this repository, from the working directory."""
    return local(os.path.relpath(ROOT / file))


def ranges_stated(wildcards):
    """The lines of the ledger that state a range: all that the readings take from it."""
    lines = (ROOT / "configs/claims.yaml").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if "within: [" in line]


def settings(stage, cell=None):
    """The resolved configuration of a stage: changing it reruns the stage, and a dry run shows the change."""
    return json.dumps(STUDY.stage_config(stage, cell), sort_keys=True, default=str)


def declaring(wildcards):
    """Hashes of the gates and claims: changing one records anew when they were declared."""
    try:
        return [
            values_hash(Path(f)) for f in (STUDY_FILE, ROOT / "configs/claims.yaml")
        ]
    except OSError as error:
        raise WorkflowError(f"{error.filename}: {error.strerror}") from None


def one_of(names):
    """A wildcard's constraint: it matches one of the names, and nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def cell_of(wildcards):
    return Cell(wildcards.model, wildcards.variant, int(wildcards.seed))


def need(stage, resource):
    """How much of a resource a model's job takes: gpu, mem_mb (on the host) or runtime (minutes)."""

    def of_job(wildcards):
        model = STUDY.models[wildcards.model].hardware
        held = gpus(stage, wildcards.model)
        if resource == "gpu":
            return held
        if model is None:
            return UNSTATED[resource]
        if resource == "mem_mb":  # in proportion to the GPUs that the job holds
            return 1024 * model.memory_gib * held // model.gpus
        hours = {"generate": model.generate_hours}.get(stage, model.train_hours)
        return math.ceil(60 * hours)

    return of_job


def needs(stage):
    """What :func:`need` gives, for each resource."""
    return {name: need(stage, name) for name in ("gpu", "mem_mb", "runtime")}


@functools.cache
def gpus(stage, model):
    """How many GPUs a job of a model holds."""
    return job.gpus(STUDY, stage, model)


def selector(variant):
    """The library's module of a variant's selector."""
    return f"selection.{rule_module(STUDY.method_of(variant).selector)}"


def folder_of_settings(wildcards, input):
    """The folder of the measured frames: the settings file is in it."""
    return Path(input.settings).parent.as_posix()


def folder_of_output(above=0):
    """The folder of a job's first output, or the folder `above` levels higher."""
    return lambda wildcards, output: Path(output[0]).parents[above].as_posix()


def curve_in(files):
    """The learning curves' frame in a folder, if the study has learning curves."""
    return [files.frame(LEARNING_CURVE)] if config.get(LEARNING_CURVE) else []


def frames(names):
    """The frames' files: measured frames are in STORED, those of the statistics stage in RESULTS."""
    return [
        SHOWN.statistics(name) if name in MADE else MEASURED.frame(name)
        for name in names
    ]


def numbered(declared):
    """Each title with its number in the report, so that a sorted list has the report's order."""
    return {
        name: f"{i:02} {shown.title}"
        for i, (name, shown) in enumerate(declared.items(), start=1)
    }


def local_model(wildcards):
    """The files that a local model is copied from: when they change, it is fetched anew."""
    model = STUDY.models[wildcards.model]
    if model.kind != "local":
        return []
    folder = repository(STUDY_FILE) / model.path
    kinds = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja")
    files = [str(file) for kind in kinds for file in folder.glob(kind)]
    return [local(file) for file in sorted(files)]


def models_of(bases):
    """The checkpoints of base models."""
    return [FILES.base_model(base.model, base.seed) for base in bases]


def first_base(wildcards):
    """A model's base model with the lowest number."""
    base = STUDY.first_base(wildcards.model)
    return FILES.base_model(base.model, base.seed)


def base_of(wildcards):
    """The base model with which a cell's training begins."""
    base = STUDY.base_of(cell_of(wildcards))
    return FILES.base_model(base.model, base.seed)


def chosen_rate(wildcards):
    """The file with a cell's chosen learning rate, if the study tunes it."""
    cell = cell_of(wildcards)
    return [STUDY.rate_file(FILES, cell)] if STUDY.is_tuned(cell) else []


def held_out(wildcards):
    """The evaluation problems, if a cell's training draws its learning curve on them."""
    asked = LEARNING_CURVE in STUDY.recorded(cell_of(wildcards))
    return [FILES.eval_problems] if asked else []


def train_settings(wildcards):
    """The configuration of a training and, where accelerate starts it, a hash of accelerate's file."""
    try:
        launcher = job.launcher_hash(STUDY_FILE, STUDY, wildcards.model)
    except OSError as error:
        raise WorkflowError(f"{error.filename}: {error.strerror}") from None
    return settings("train", cell_of(wildcards)) + launcher


def input_options(wildcards, input):
    """The command-line options that pass a training its optional inputs."""
    given = {
        "--rate": input.rate,
        "--twin": input.twin,
        "--held-out": input.held_out,
    }
    return [word for option, file in given.items() if file for word in (option, *file)]


def rounds_before(wildcards):
    """How many tuning rounds come before this one; without a number it is the last round."""
    return int(wildcards.get("number", STUDY.tuning.rounds)) - 1


def round_before(wildcards):
    """What the previous round wrote; empty for the first round."""
    number = rounds_before(wildcards)
    files = [FILES.chosen_rate(wildcards.model, wildcards.variant, number)]
    return files if number else []


def before_option(wildcards, input):
    return ["--before", *input.before] if input.before else []


def tried_for(arm):
    """The study's trainings by which a variant's rate was chosen; none if it is not chosen yet, or its file is damaged."""
    try:
        choice = read_manifest(FILES.chosen_rate(*arm))
    except UserError:
        return []
    known = trials(*arm, [*STUDY.tuning.first(), *STUDY.tuning.later()])
    return [cell for cell in trials(*arm, tried_in(choice)) if cell in known]


def tried(wildcards):
    """The trainings of one tuning round of a variant."""
    arm, number = (wildcards.model, wildcards.variant), rounds_before(wildcards)
    asked = STUDY.tuning.first()
    if number:
        names = {"model": arm[0], "variant": arm[1], "number": number}
        before = checkpoints.tune_round.get(**names).output[0]
        try:
            asked = read_manifest(Path(before))["next"]
        except UserError as error:
            raise WorkflowError(f"{error}; delete {before}") from None
    cells = {cell: FILES.cell(cell.folder).train for cell in trials(*arm, asked)}
    # A training that is here stays the input once it is stored too: another input would have the rate chosen again.
    return [
        (
            StoredCellFiles(STORED_CELLS.cells[cell]).manifest
            if cell in STORED_CELLS.cells and not training.exists()
            else training
        )
        for cell, training in cells.items()
    ]


def outputs_of(rule, cells):
    """A rule's output files for these cells."""
    named = [
        {key: str(value) for key, value in cell._asdict().items()} for cell in cells
    ]
    return [file.apply_wildcards(names) for names in named for file in rule.output]


def run_here(cells):
    """The cells that this study has to run: those that are not stored one by one."""
    return [cell for cell in cells if cell not in STORED_CELLS.cells]


def trainings(cells):
    """The training outputs of the cells that this study has to run."""
    return [FILES.cell(cell.folder).train for cell in run_here(cells)]


def asked_again():
    """The stored cells of which a target is an output, so that they are run again all the same."""
    parents = {p for t in workflow.dag_settings.targets for p in Path(t).parents}
    cells = STORED_CELLS.cells
    return [c.folder for c in cells if FILES.cell(c.folder).folder in parents]


def trained(wildcards):
    """The output that holds a cell's model: the base model itself, or a training's folder."""
    if wildcards.variant == BASE_VARIANT:
        return FILES.base_model(wildcards.model, wildcards.seed)
    return FILES.cell(cell_of(wildcards).folder).train


def model_read(wildcards):
    """The output with the model whose tokens are read; among base models it is the first."""
    return (first_base if wildcards.variant == BASE_VARIANT else trained)(wildcards)


def model_folder(wildcards, input):
    """The model's folder in the output that :func:`trained` or :func:`model_read` gives."""
    path = Path(input.trained)
    if wildcards.variant != BASE_VARIANT:
        path = trained_model(path)
    return path.as_posix()


def grading_memory(wildcards, threads):
    """Memory for the frames and the grading workers, in MB."""
    return 4000 + threads * STUDY.grading.memory_mib


def state_of(paths):
    """The content hash of each frame; None for a file that does not exist."""
    # here, as its imports take longer than a job
    from ict_core.store.records import content_hash

    try:
        return [content_hash(Path(p)) if Path(p).exists() else None for p in paths]
    except Damaged as error:
        raise WorkflowError(f"{error}; delete {error.output}") from None
