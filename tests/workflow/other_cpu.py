"""Another processor for a process: `other_cpu.c`, compiled and preloaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from system import needs

SOURCE = Path(__file__).with_name("other_cpu.c")
CPUS = ("amd", "avx2", "amd-avx2")


def preloaded(folder: Path, cpu: str) -> dict[str, str]:
    """The environment in which CPUID answers as that processor's; skips the test where this one cannot pretend."""
    library = folder / "other_cpu.so"
    if not library.exists():
        needs("gcc", "libc6-dev")
        command = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"]
        subprocess.run(command, check=True)
    environment = os.environ | {"LD_PRELOAD": str(library), "OTHER_CPU": cpu}
    probe = subprocess.run([sys.executable, "-c", "pass"], env=environment, check=False)
    if probe.returncode == 99:
        pytest.skip("this processor, or its hypervisor, does not let CPUID fault")
    return {"LD_PRELOAD": str(library), "OTHER_CPU": cpu}
