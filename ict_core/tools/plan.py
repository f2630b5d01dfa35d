"""The cost of the jobs that a study would run: their number by a dry run, their times by finished jobs."""

import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ict_core.config.inputs import Model
from ict_core.config.mistakes import shown
from ict_core.config.study import Study
from ict_core.config.tuning import rate_of
from ict_core.errors import Damaged, UserError
from ict_core.markdown import markdown_table
from ict_core.store import records
from ict_core.store.layout import MANIFEST, StudyFiles, cell_folder
from ict_core.store.manifests import read_manifest

TRAINS = ("train", "train at a rate")
"""The rule of a training, and what a training that states its rate, as those do that choose one, is listed as."""
Seconds = dict[tuple[str, str], list[float]]
"""The seconds of each finished job, by rule and model."""


class Kind(NamedTuple):
    """Jobs that are alike."""

    rule: str
    model: str  # empty if the job is of no model
    threads: int


def planned_jobs(study: Path, repository: Path, cores: int) -> Counter[Kind]:
    """How many jobs of each kind Snakemake would run now on `cores` cores; the rules of figures count as one.

    Raises:
        UserError: the dry run fails; the message has its last lines.
    """
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--nocolor", "--cores", str(cores)]
    done = subprocess.run(
        [*command, f"--config=study={study.resolve()}"],
        cwd=repository,
        env=os.environ | {"PYTHONHASHSEED": "0"},  # fixes the order in which it prints jobs
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(f"the dry run fails: {' '.join(done.stdout.split(chr(10))[-12:]).strip()}")
    jobs: Counter[Kind] = Counter()
    for block in re.split(r"\n(?=(?:localrule|rule|checkpoint) \w+:\n)", done.stdout)[1:]:
        (rule,) = re.findall(r"^\w+ (\w+):", block)
        model, variant = (
            re.search(rf"^    wildcards: (?:.*, )?{key}=([^,\n]+)", block, re.MULTILINE) for key in ("model", "variant")
        )
        threads = re.search(r"^    threads: (\d+)$", block, re.MULTILINE)
        rule = re.sub(r"^figure_\w+", "figures", re.sub(r"^fetch_model\w*", "fetch", rule))
        rule = _rule(rule, variant[1] if variant else "")
        jobs[Kind(rule, model[1] if model else "", int(threads[1]) if threads else 1)] += 1
    return jobs


def _rule(stage: str, variant: str) -> str:
    """The rule of a stage's job. Trainings at a stated rate, most of them shorter, are a kind of their own."""
    return TRAINS[1] if stage == TRAINS[0] and rate_of(variant)[1] is not None else stage


def finished_seconds(results: Path, cells: Path | None = None) -> Seconds:
    """Wall seconds of the finished jobs of a study's folder and of the cells stored on their own in the folder `cells`.

    For a stored study, which has no cells, they come from its frame `compute`. A damaged manifest is left out, as the
    workflow makes it again, and so is a training that was taken over from its twin.
    """
    files, seconds = StudyFiles(results), defaultdict[tuple[str, str], list[float]](list)
    cell = files.cell(cell_folder("*", "*", "*"))
    patterns = (files.base_model("*", "*") / MANIFEST, cell.train / MANIFEST, cell.generation, cell.grading)
    found = [(results, path) for p in patterns for path in sorted(results.glob(p.relative_to(results).as_posix()))]
    found += [(cells, path) for path in sorted(cells.glob("*/*/*/cell.json"))] if cells else []
    for folder, path in found:
        try:
            manifest = read_manifest(path)
        except Damaged:
            continue
        for job in manifest["jobs"].values() if folder == cells else [manifest]:
            model, variant, *_ = path.relative_to(folder).parts
            if "taken_over" not in job:
                seconds[_rule(job["stage"], variant), model].append(job["wall_seconds"])
    if not seconds and (frame := files.frame("compute")).exists():
        jobs = records.read_frame(frame, records.COMPUTE)
        for stage, model, variant, took in jobs[["stage", "model", "variant", "seconds"]].itertuples(index=False):
            seconds[_rule(stage, variant), model].append(took)
    return dict(seconds)


def plan_page(study: Study, jobs: Mapping[Kind, int], seconds: Seconds, source: Path, cores: int) -> str:
    """The jobs of :func:`planned_jobs` with their hours, as Markdown, by the seconds of finished jobs in `source`."""
    mean = {kind: sum(took) / len(took) for kind, took in seconds.items()}
    rows: list[tuple[object, ...]] = []
    work, untimed, chains = 0.0, 0, defaultdict[str, float](float)
    for kind, number in jobs.items():
        each = mean.get(kind[:2])
        if each is None:
            untimed += number
            rows.append((*kind[:2], number, kind.threads, "", "", ""))
            continue
        work += number * each * kind.threads
        chains[kind.model] += each
        times = (f"{each:.1f}", len(seconds[kind[:2]]), f"{number * each / 3600:.2f}")
        rows.append((*kind[:2], number, kind.threads, *times))
    rows.append(("total", "", sum(jobs.values()), "", "", "", ""))
    heads = ["rule", "model", "jobs", "threads", "seconds of one", "measured on", "hours"]
    parts = [f"# Plan of the study {study.name}\n", markdown_table(heads, rows, "llrrrrr", padded=True)]
    if chains:
        shortest = max(work / cores, *chains.values()) / 3600
        parts.append(
            f"The seconds are means of the finished jobs in {shown(source)}. On {cores} core(s) these take at least "
            f"{shortest:.2f} hours: hours times threads over cores, or one job of each rule of a model after another. "
            "GPUs are not counted.\n"
        )
    if untimed:
        limits = _limits(study, {kind: number for kind, number in jobs.items() if kind[:2] not in mean})
        parts.append(f"{untimed} jobs have no time: no such job has finished there.{limits}\n")
    if more := study.later_in_words():
        parts.append(f"Not counted: {more}.\n")
    parts += filter(None, [_disk_of_checkpoints(study, jobs, cores), _disk_of_rollouts(study, jobs)])
    return "\n".join(parts)


def _limits(study: Study, jobs: Mapping[Kind, int]) -> str:
    """A sentence on the hours that the limits of these jobs allow; empty if no model states hardware."""
    keys, cap = {**dict.fromkeys(TRAINS, "train_hours"), "generate": "generate_hours"}, 0.0
    for kind, number in jobs.items():
        if kind.rule in keys and (hardware := study.models[kind.model].hardware):
            cap += number * getattr(hardware, keys[kind.rule])
    return f" The limits of those on GPUs (train_hours, generate_hours) allow {cap:,.0f} hours in all." if cap else ""


def _disk_of_checkpoints(study: Study, jobs: Mapping[Kind, int], cores: int) -> str:
    """The disk space of checkpoints of running trainings, for models with `hardware`; empty if there are none."""
    training, under_way, written, room = study.training, 0.0, 0, float(cores)
    sizes = {kind: checkpoint_bytes(study, kind.model) for kind in jobs if kind.rule in TRAINS}
    for kind in sorted(sizes, key=lambda kind: sizes[kind] / kind.threads, reverse=True):  # the most per core first
        at_a_time = min(jobs[kind], room / kind.threads)
        room -= at_a_time * kind.threads
        under_way += at_a_time * sizes[kind] * (training.checkpoints_kept + 1)  # one more while it is written
        steps = max(study.training_of(kind.model, variant).steps for variant in study.methods)
        written += jobs[kind] * sizes[kind] * math.ceil(steps / (training.checkpoint_every or 1))
    if not under_way:
        return ""
    return (
        f"Checkpoints of the trainings that run at a time on {cores} core(s) take at most about "
        f"{under_way / 1e9:,.0f} GB (`checkpoints_kept: {training.checkpoints_kept}`) and go when a training ends. "
        f"All trainings write {written / 1e9:,.0f} GB of them and read them again once, for their hashes: at 1 GB/s"
        f" {2 * written / 3.6e12:,.1f} hours.\n"
    )


def _disk_of_rollouts(study: Study, jobs: Mapping[Kind, int]) -> str:
    """The disk space of kept rollouts; empty if no training that is to run keeps them."""
    if study.rollouts_mib is None:
        return ""
    trainings = sum(number for kind, number in jobs.items() if kind.rule in TRAINS)
    trainings = min(trainings, sum(bool(study.recorded(cell)) for cell in study.trained_cells()))  # tuning keeps none
    if not trainings:
        return ""
    size = max(study.training_of(cell.model, cell.variant).rollout_bytes for cell in study.cells())
    return (
        f"Kept rollouts take at most about {trainings * size / 1e9:,.2f} GB: {size / 2**20:,.1f} MiB of each of "
        f"{trainings} trainings (`rollouts_mib: {study.rollouts_mib}`).\n"
    )


def checkpoint_bytes(study: Study, name: str) -> int:
    """Bytes of one checkpoint of a model's training: float32 weights and AdamW's two moments, or those of adapters.

    transformers writes the weights of a sharded training twice. Any decoder counts as a Qwen2 of the sizes in the
    model's file. 0 without `hardware`, or without checkpoints.
    """
    model: Model = study.models[name]
    if model.hardware is None or study.training.checkpoint_every is None:
        return 0
    a = model.architecture
    width, keys = a.hidden_size, a.hidden_size * a.kv_heads // a.heads
    matrices = [(width, width)] * 2 + [(width, keys)] * 2 + [(width, a.intermediate_size)] * 3
    if (lora := study.training.lora) is not None:
        return 12 * a.layers * lora.rank * sum(map(sum, matrices))
    layer = sum(map(math.prod, matrices)) + 3 * width + 2 * keys  # two norms; biases of queries, keys and values
    per_weight = 16 if model.hardware.accelerate == "fsdp2" else 12
    return per_weight * (a.layers * layer + (2 - model.tied_embeddings) * a.vocab_size * width + width)
