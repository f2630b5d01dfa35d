"""The container file, as far as it can be tried without an engine: what it copies is enough for `make env`."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COPIES = re.findall(r"^COPY (.+) (\S+)$", (ROOT / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("lock", ["cpu", "gpu"])
def test_the_environment_can_be_made_of_what_is_copied(tmp_path, lock):
    assert COPIES
    for sources, target in COPIES:
        for source in sources.split():
            path, into = ROOT / source, tmp_path / target
            if path.is_dir():
                shutil.copytree(path, into, symlinks=True)
            else:
                shutil.copy2(path, into)
    command = ["make", "--dry-run", "env", f"LOCK={lock}", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"-r requirements/{lock}.lock" in done.stdout, done.stderr
    assert (tmp_path / "ict_core/configs/methods/ict-10.yaml").exists()  # the link is copied as a link
