"""The container file, as far as it can be tried without an engine: it is built in a chroot, for the CPU."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from system import needs

ROOT = Path(__file__).resolve().parents[1]
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")
COPIES = re.findall(r"^COPY (.+) (\S+)$", CONTAINER, re.MULTILINE)
PACKAGES = re.search(r"apt-get install --yes --no-install-recommends ([^\\&]+)", CONTAINER)[1].split()
BUILT = """set -e
mount --make-rprivate /
cd "$1"
shift
for place in /dev /proc "$@"; do
    if [ -d "$place" ]; then mkdir -p ".$place"; else mkdir -p ".${place%/*}" && touch ".$place"; fi
    mount --rbind "$place" ".$place"
done
exec chroot . /bin/sh -exc 'cd /opt/ict; make env LOCK=cpu; .venv/bin/ict --help; .venv/bin/snakemake --version'
"""
"""Mounts what it is given into a root that no other process sees, and runs there what the container's last RUN does."""


def copy_into(folder: Path) -> None:
    """What the container file copies."""
    assert COPIES
    for sources, target in COPIES:
        for source in sources.split():
            path, into = ROOT / source, folder / target
            if path.is_dir():
                shutil.copytree(path, into, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(path, into)


@pytest.mark.parametrize("lock", ["cpu", "gpu"])
def test_the_environment_can_be_made_of_what_is_copied(tmp_path, lock):
    copy_into(tmp_path)
    command = ["make", "--dry-run", "env", f"LOCK={lock}", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"-r requirements/{lock}.lock" in done.stdout, done.stderr
    assert (tmp_path / "ict_core/configs/methods/ict-10.yaml").exists()  # the link is copied as a link


def of_pip() -> list[str]:
    """The files and folders of this machine by which pip finds packages: its settings, and what they name.

    Of an index in a folder the folder above, as its pages may name files beside it.
    """
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "debug"], capture_output=True, text=True, check=True
    ).stdout
    files = re.findall(r"^\s+(/\S+), exists: True$", said, re.MULTILINE)
    values = [Path(file).read_text() for file in files]
    values += [value for name, value in os.environ.items() if name.startswith("PIP_")]
    text = "\n".join(values)
    named = re.findall(r"(?<![\w:/])/[\w./-]+", text)
    named += [str(Path(index).parent) for index in re.findall(r"file://(/[\w./-]+)", text)]
    return sorted({place for place in (*files, *named, "/etc/resolv.conf") if Path(place).exists()})


@pytest.mark.long
def test_the_container_is_built_in_a_chroot(tmp_path):
    """On Debian's own root in place of Python's image; without a GPU no kernel is compiled."""
    needs("mmdebstrap")
    if os.geteuid():
        pytest.skip("only root may mount")
    root = tmp_path / "root"
    packages = ",".join([*PACKAGES, "ca-certificates"])
    suite = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={packages}", "bookworm", str(root)]
    subprocess.run(suite, check=True)
    (root / "opt/ict").mkdir(parents=True)
    copy_into(root / "opt/ict")
    alone = ["unshare", "--mount", "sh", "-c", BUILT, "sh", str(root), *of_pip()]
    done = subprocess.run(alone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Usage: ict" in done.stdout and re.search(r"^9\.\d+\.\d+$", done.stdout, re.MULTILINE)
    built = subprocess.run(["chroot", root, "g++", "--version"], capture_output=True, text=True, check=True)
    assert "Free Software" in built.stdout
