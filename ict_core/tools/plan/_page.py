"""The plan as a page of Markdown tables, with what Snakemake says that it would run."""

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ict_core.config import Study
from ict_core.config.mistakes import shown
from ict_core.errors import UserError
from ict_core.markdown import markdown_table
from ict_core.tools.plan._assumptions import PlanFile, Rates, gpu_device
from ict_core.tools.plan._costs import Cost, cells_of, parameters, replica_gpus, step_work, study_costs, wall_hours
from ict_core.tools.plan._room import OnDisk, study_disk, training_memory

_OLD_AND_NEW = re.compile(r"(?<=Params have changed since last execution): .*?(?=; Software environment|$)")
"""The values that Snakemake tells of changed parameters, which may hold whatever separates its reasons."""


@dataclass
class RuleRuns:
    """The jobs of one rule in the whole study, those that would run now, and how many of these for which reason."""

    jobs: int = 0
    runs: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def rule_runs(study: Path, repository: Path) -> dict[str, RuleRuns]:
    """Every rule's jobs of a study's file in the folder of the Snakefile; the figures' rules count as one."""
    rules: defaultdict[str, RuleRuns] = defaultdict(RuleRuns)
    for rule, _ in parse(_dry_run(study, repository, "--forceall")):
        rules[rule].jobs += 1
    for rule, reasons in parse(_dry_run(study, repository)):
        rules[rule].runs += 1
        rules[rule].reasons.update(reasons)
    return dict(rules)


def _dry_run(study: Path, repository: Path, *options: str) -> str:
    """What a dry run of the study prints."""
    if not (repository / "Snakefile").is_file():
        raise UserError(
            f"{repository / 'Snakefile'}: no such file, so Snakemake cannot be asked what would run; "
            "move the study into the repository's configs/studies, or give --no-dag"
        )
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--nocolor", *options]
    done = subprocess.run(
        [*command, "--configfile", str(study.resolve())],
        cwd=repository,
        env=os.environ | {"PYTHONHASHSEED": "0"},  # the order in which it prints jobs
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        last_lines = " ".join(done.stdout.split("\n")[-12:]).strip()
        raise UserError(f"the dry run fails: {last_lines}; the option --no-dag plans without it")
    return done.stdout


def parse(printed: str) -> list[tuple[str, list[str]]]:
    """(rule, reasons without the files that they name) of every job that a dry run prints."""
    jobs = []
    for block in re.split(r"\n(?=(?:local)?(?:rule|checkpoint) \w+:\n)", printed)[1:]:
        name = re.match(r"\w+ (\w+):", block)
        reason = re.search(r"^    reason: (.*)$", block, re.MULTILINE)
        assert name is not None  # a block begins with its rule
        parts = _OLD_AND_NEW.sub("", reason[1]).split("; ") if reason else []
        rule = re.sub(r"^figure_\w+", "figures", name[1])
        jobs.append((rule, [part.partition(":")[0] for part in parts]))
    return jobs


GB = 1e9


def plan_page(
    study: Study,
    plan: PlanFile,
    gpu: str,
    results: Path,
    rates: Rates,
    rules: dict[str, RuleRuns] | None,
    damaged: Mapping[Path, str] = MappingProxyType({}),
) -> str:
    """The whole plan; `rates` was read from `results`, and `rules` is None where Snakemake was not asked."""
    costs = study_costs(study, plan, gpu, rates)
    parts = [
        f"# Plan of the study {study.name}\n",
        *_cells(study),
        *_jobs(study, rules),
        *_damaged(results, damaged),
        *_costs(study, costs, gpu, results),
        *_parts(costs),
        *_wall(costs, plan),
        *_memory(study, plan, gpu),
        *_disk(study_disk(study, plan.assumptions, results, rates, damaged)),
        *_assumptions(plan, gpu, costs),
    ]
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], align: str | None = None) -> str:
    """A table; `align` has l or r for each column and by default begins with one l."""
    return markdown_table(heads, rows, align or "l" + "r" * (len(heads) - 1), padded=True)


def _number(value: float) -> str:
    """Three digits, thousands apart; nothing below a ten-thousandth."""
    return f"{value:,.0f}" if value >= 100 else f"{round(value, 4):.3g}"


def _cells(study: Study) -> list[str]:
    rows = [(model, *cells_of(study, model)) for model in study.models]
    total = ("total", len(study.trained_cells()), len(study.evaluated_cells()))
    tuned = ""
    if study.tuning is not None:
        tuned = (
            f"Of the trainings {len(study.tuning_cells())} choose learning rates ({len(study.tuning.rates)} rates and "
            f"{len(study.tuning.first_seeds)} seeds for each method), and {len(study.shared_rate_cells())} are at the "
            "rate that all share; those of the grid whose rate is the same are taken over from these.\n"
        )
    more = f"Not counted: {study.later_in_words()}.\n" if study.later_in_words() else ""
    return ["## Cells\n", _table(["model", "to train", "to evaluate"], [*rows, total]), tuned, more]


def _jobs(study: Study, rules: dict[str, RuleRuns] | None) -> list[str]:
    head = "## Jobs by stage, and what would run now\n"
    if rules is None:
        return [head, "Not asked (--no-dag).\n"]
    rows: list[tuple[object, ...]] = []
    for rule, runs in rules.items():
        reasons = "; ".join(f"{why.lower()} ({n})" for why, n in sorted(runs.reasons.items()))
        rows.append((rule, runs.jobs, runs.runs, reasons))
    would_run = sum(runs.runs for runs in rules.values())
    rows.append(("total", sum(runs.jobs for runs in rules.values()), would_run, ""))
    note = f"Nothing would run: results/{study.name} is complete and up to date.\n"
    if would_run:
        note = f"Snakemake's reasons, against what lies in results/{study.name}; (n): jobs with that reason.\n"
    return [head, _table(["rule", "jobs", "would run", "because"], rows, "lrrl"), note]


def _damaged(results: Path, damaged: Mapping[Path, str]) -> list[str]:
    faults = [fault.replace(f"{results.parent.parent}/", "") for fault in damaged.values()]
    return ["Damaged, and made anew:\n", *(f"* {fault}" for fault in faults), ""] if faults else []


def _costs(study: Study, costs: Sequence[Cost], gpu: str, results: Path) -> list[str]:
    rows = [
        (
            cost.stage,
            cost.model,
            f"measured ({cost.measured})" if cost.measured else "estimated",
            cost.jobs,
            f"{cost.devices} {cost.kind}",
            _number(cost.tokens / 1e6),
            _number(cost.seconds / 3600),
            _limit(cost),
            _number(cost.hours) if cost.kind == "GPU" else "",
            _number(cost.hours) if cost.kind == "CPU" else "",
        )
        for cost in costs
    ]
    hours = {kind: sum(cost.hours for cost in costs if cost.kind == kind) for kind in ("GPU", "CPU")}
    totals = [_number(of_kind) if of_kind else "" for of_kind in hours.values()]
    heads = ["stage", "model", "source", "jobs", "a job takes", "10^6 tokens a job", "hours a job", "limit, h"]
    table = _table([*heads, "GPU-hours", "CPU-hours"], [*rows, ("total", *[""] * 7, *totals)], "lllrlrrrrr")
    note = "Estimated: from FLOPs, bytes and the assumptions below; nothing was run for it."
    if any(cost.measured for cost in costs):
        jobs = f"n finished jobs in {shown(results)}"
        note = f"Measured (n): seconds a token and tokens an answer of {jobs}. {note}"
    if any(cost.kind == "GPU" for cost in costs):
        note += f" GPU: {gpu}."
    if study.training.rollouts and study.training.rollouts.engine == "vllm-server":
        note += " The GPUs of the vLLM server are not counted."
    return ["## Hours\n", table, note + "\n"]


def _limit(cost: Cost) -> str:
    """The scheduler's limit, in hours, and whether the job passes it."""
    if cost.limit_hours is None:
        return ""
    return f"{cost.limit_hours:g}" + (" (passed)" if cost.seconds > 3600 * cost.limit_hours else "")


def _parts(costs: Sequence[Cost]) -> list[str]:
    trainings = [cost for cost in costs if cost.stage == "train" and cost.parts]
    if not trainings:
        return []
    rows = [(c.model, *(_number(s / 3600) for s in c.parts.values())) for c in trainings]
    return ["### Hours of one training by part (estimated)\n", _table(["model", *trainings[0].parts], rows)]


def _wall(costs: Sequence[Cost], plan: PlanFile) -> list[str]:
    if not any(cost.kind == "GPU" for cost in costs):
        return []
    rows = []
    for gpus in plan.wall_gpus:
        hours = wall_hours(list(costs), gpus)
        text = "a job takes more GPUs" if hours is None else f"{_number(hours)} h = {_number(hours / 24)} days"
        rows.append((gpus, text))
    return [
        "## Shortest wall time\n",
        _table(["GPUs", "wall time, at least"], rows, "rl"),
        "The larger of GPU-hours over GPUs and the longest training with its generation.\n",
    ]


def _memory(study: Study, plan: PlanFile, gpu: str) -> list[str]:
    device, rows = gpu_device(plan, gpu), []
    for name, model in study.models.items():
        if model.hardware is None:
            continue
        work = step_work(study, name, plan.assumptions)
        held = training_memory(model, study.training_of(name), work, device.memory, plan.assumptions)
        over = replica_gpus(model, held.vllm, plan.assumptions) if held.vllm else 1
        count = parameters(model.architecture, model.tied_embeddings)
        values = (held.state, held.reference, held.activations, held.statistics, held.vllm, held.peak, device.memory)
        fits = "NO" if held.peak > device.memory else "yes" if over == 1 else f"NO: vLLM needs {over} GPUs"
        rows.append((name, f"{count:,}", model.hardware.gpus, *(_number(v / GB) for v in values), fits))
    if not rows:
        return []
    heads = ["model", "parameters", "GPUs", "state", "reference", "activations", "statistics", "vLLM", "peak"]
    return [
        "## Memory of one GPU in a training, GB (estimated)\n",
        _table([*heads, "a GPU has", "fits"], rows),
        "State: weights, gradients and AdamW's moments. vLLM sleeps during statistics and update where the recipe says "
        "so, and holds the whole model on one GPU.\n",
    ]


def _disk(stored: Sequence[OnDisk]) -> list[str]:
    rows = [
        (s.what, s.model, "measured" if s.measured else "estimated", s.files, _number(s.bytes / GB)) for s in stored
    ]
    kept, peak = sum(s.bytes for s in stored if s.kept), sum(s.bytes for s in stored)
    totals = [("kept", "", "", "", _number(kept / GB)), ("peak", "", "", "", _number(peak / GB))]
    return ["## Disk, GB\n", _table(["what", "model", "source", "files", "GB"], [*rows, *totals], "lllrr")]


def _assumptions(plan: PlanFile, gpu: str, costs: Sequence[Cost]) -> list[str]:
    devices = {"GPU": (gpu, plan.gpus[gpu].dump()), "CPU": ("cpu, a thread", plan.cpu.dump())}
    facts = [
        (name, "; ".join(f"{k} {v:g}" for k, v in sheet.items() if k != "source"), sheet["source"])
        for kind, (name, sheet) in devices.items()
        if any(cost.kind == kind for cost in costs)
    ]
    rows = [
        (name, f"{value['value']:g} {value['unit']}", value["source"])
        for name, value in plan.assumptions.dump().items()
    ]
    return [
        "## Assumptions (configs/plan.yaml)\n",
        _table(["name", "value", "source"], [*facts, ("node_gpus", plan.node_gpus, "GPUs of a node"), *rows], "lll"),
    ]
