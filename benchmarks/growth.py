"""How the dry run, status and aggregation grow with the number of cells: seconds, memory, and the exponent.

    python benchmarks/growth.py         # of 34, 102, 1,020 and 3,060 cells
    python benchmarks/growth.py --quick # of 34 and 68

Each study is `mini-ablations` with other seeds, in a copy of the repository. For the dry run nothing is done yet. For
`ict status` half of the cells are done. `ict collect` and `ict statistics` read synthetic cells: those of the stored
run, repeated for every further seed. The exponent is the slope of log CPU seconds over log cells between the two
largest studies.
"""

import math
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import report

from ict_core.config.load import load_study
from ict_core.config.study import Study
from ict_core.config.study_file import Cell
from ict_core.store import records
from ict_core.store.layout import MANIFEST, StudyFiles
from ict_core.store.manifests import read_manifest, write_manifest

REFERENCE = report.REPOSITORY / "results/reference/mini-ablations"
STUDY = "configs/studies/mini-ablations.yaml"
STORED_SEEDS = 6
VARIANTS = 34  # cells per seed


# runs a module, and prints its own peak last (the kernel's count for a child begins with its parent's memory)
PEAK = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
finally:
    lines = open("/proc/self/status").read().splitlines()
    print("", *[line.split()[1] for line in lines if line.startswith("VmHWM")], sep="\\n", file=sys.stderr)
"""


class Run(NamedTuple):
    """A command's wall and CPU seconds, and its peak memory in MiB."""

    seconds: float
    cpu: float
    memory: float


def with_seeds(folder: Path, seeds: int) -> Study:
    """Write the study with that many seeds in every block."""
    text = (report.REPOSITORY / STUDY).read_text()
    study, blocks = re.subn(r"seeds: \[.*\]", f"seeds: {list(range(seeds))}", text)
    if not blocks:
        raise SystemExit(f"{STUDY} has no line `seeds: [...]`")
    (folder / STUDY).write_text(study)
    return load_study(folder / STUDY)


def run(folder: Path, *command: str) -> Run:
    """Run a Python module in a folder. If it fails, the benchmark exits."""
    started = time.perf_counter()
    cpu, errors = report.cpu_seconds([sys.executable, "-c", PEAK, *command], folder, {"PYTHONPATH": str(folder)})
    return Run(time.perf_counter() - started, cpu, int(errors.split()[-1]) / 1024)


class Cells:
    """Writes the files of cells: those of the stored run for its seeds, and links to them for all other seeds."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.scores, self.log, self.tokens = (
            pd.read_parquet(StudyFiles(REFERENCE).frame(name)) for name in ("scores", "log", "tokens")
        )
        self.manifests = read_manifest(REFERENCE / MANIFEST)

    def write(self, cell: Cell, base: bool) -> None:
        """Write one cell. Those of the stored seeds must come first."""
        stored = cell._replace(seed=cell.seed % STORED_SEEDS)
        folder = self.results / cell.folder
        if cell == stored:
            self._write_stored(cell, base)
            return
        first = self.results / stored.folder
        for file in sorted(first.rglob("*")):
            target = folder / file.relative_to(first)
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.is_file():
                target.hardlink_to(file)

    def write_shadow(self, cells: list[Cell]) -> None:
        """Write the frame that compares the rules on the tokens of these cells."""
        frame = pd.read_parquet(StudyFiles(REFERENCE).frame("shadow"))
        rows = [self._of(frame, cell._replace(seed=cell.seed % STORED_SEEDS)).assign(seed=cell.seed) for cell in cells]
        records.write_frame(pd.concat(rows), StudyFiles(self.results).frame("shadow"), records.STUDY_SHADOW)

    def _of(self, frame: pd.DataFrame, cell: Cell) -> pd.DataFrame:
        return frame[(frame["model"] == cell.model) & (frame["variant"] == cell.variant) & (frame["seed"] == cell.seed)]

    def _write_stored(self, cell: Cell, base: bool) -> None:
        folder = self.results / cell.folder
        records.write_frame(grades(self._of(self.scores, cell)), folder / "grades.parquet", records.GRADES)
        (folder / "completions.parquet").touch()
        jobs = [j for j in self.manifests["jobs"] if Cell(j["model"], j["variant"], j["seed"]) == cell]
        files = {
            "pretrain": folder / "model" / MANIFEST,
            "train": folder / "train" / MANIFEST,
            "generate": folder / "generation.json",
            "grade": folder / "grading.json",
        }
        for job in jobs:
            write_manifest(files[job["stage"]], self._whole(job))
        if not base:
            log, tokens = self._of(self.log, cell), self._of(self.tokens, cell)
            records.write_frame(log[list(records.LOG)], folder / "train/log.parquet", records.LOG)
            records.write_frame(tokens[list(records.TOKENS)], folder / "train/tokens.parquet", records.TOKENS)

    def _whole(self, job: dict) -> dict:
        """A job's manifest as it was before `collect.merge_manifests`, without its configuration."""
        merged = self.manifests
        manifest = {**job, **merged["environments"][job["environment"]], "process": merged["processes"][job["process"]]}
        manifest |= {"config": {}, "files": {}}
        manifest["source"] = {**merged["sources"][job["source"]], "loaded": merged["loaded"][job["loaded"]]}
        if "trl" in job:
            manifest["trl"] = {**merged["trl"][job["trl"]], "seed": job["trl_seed"]}
        if "engine_settings" in job:
            manifest["engine_settings"] = merged["engines"][job["engine_settings"]]
        return {key: value for key, value in manifest.items() if key not in Cell._fields}


def grades(scores: pd.DataFrame) -> pd.DataFrame:
    """A frame of `records.GRADES` that gives these scores."""
    rows = scores.loc[scores.index.repeat(scores["sampled"])].reset_index(drop=True)
    sample = rows.groupby(["benchmark", "problem"]).cumcount()
    counts = scores[list(records.STATUSES)].to_numpy()
    status = np.repeat(np.tile(records.STATUSES, len(scores)), counts.ravel())
    finish = (sample < rows["truncated"]).map({True: "length", False: "stop"})
    tokens = rows["tokens"] // rows["sampled"]
    rows = rows[["benchmark", "problem"]].assign(sample=sample, status=status, extracted="")
    return rows.assign(finish_reason=finish, tokens=tokens)


def measure(folder: Path, cells: int) -> tuple[int, dict[str, Run]]:
    """Measure a study of about `cells` cells: the number of its trained cells, and the figures of each command."""
    study = with_seeds(folder, max(1, round(cells / VARIANTS)))
    results = folder / "results/mini-ablations"
    base, trained = study.base_cells(), study.cells()
    found = {"dry run": run(folder, "snakemake", "--dry-run", "--quiet", "all", "--cores", "2", "--configfile", STUDY)}
    writer = Cells(results)
    by_seed = sorted(trained, key=lambda cell: cell.seed)
    half = len(by_seed) // 2
    for cell in base:
        writer.write(cell, base=True)
    (results / "data").mkdir(exist_ok=True)
    for name in ("train", "eval"):
        (results / f"data/{name}.parquet").touch()
    for cell in by_seed[:half]:
        writer.write(cell, base=False)
    found["status"] = run(folder, "ict_core", "status", "--study", STUDY)
    for cell in by_seed[half:]:
        writer.write(cell, base=False)
    found["collect"] = run(folder, "ict_core", "collect", "--study", STUDY, "--results", str(results))
    run(folder, "ict_core", "settings", "--study", STUDY, "--out", str(results / "study.json"))
    writer.write_shadow(trained)
    paths = ["--stored", str(results), "--results", str(results), "--claims", "configs/claims.yaml"]
    found["statistics"] = run(folder, "ict_core", "statistics", *paths)
    shutil.rmtree(results)
    return len(trained), found


def main() -> None:
    """Measure every size, smallest first; print and keep the figures."""
    parser = report.parser(__doc__)
    parser.add_argument("--cells", type=int, nargs="+", default=[34, 102, 1020, 3060])
    options = report.parse(parser, cells=[34, 68])
    cells, runs = [], []
    for size in sorted(options.cells):
        with tempfile.TemporaryDirectory() as temporary:
            report.copy_workflow(Path(temporary))
            number, found = measure(Path(temporary), size)
        cells.append(number)
        runs.append(found)
        print(number, {name: [round(x, 1) for x in r] for name, r in found.items()}, flush=True)
    rows = []
    for name in runs[0]:
        row = {"command": name}
        for number, found in zip(cells, runs, strict=True):
            taken = found[name]
            row[f"{number:,} cells"] = f"{taken.seconds:.1f} s, {taken.memory:,.0f} MiB"
        if len(cells) > 1:
            slope = math.log(runs[-1][name].cpu / runs[-2][name].cpu) / math.log(cells[-1] / cells[-2])
            row["exponent of CPU seconds"] = f"{slope:.2f}"
        rows.append(row)
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
