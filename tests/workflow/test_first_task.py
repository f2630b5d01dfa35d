"""A newcomer's first task (CONTRIBUTING.md): change a rule's constant, see what reruns, run it, read the difference."""

import re
from collections import Counter

import pandas as pd
import pytest
from pages import ROOT, commands
from repository_copy import Copy

pytestmark = [pytest.mark.slow, pytest.mark.long]


def test_a_changed_constant_reruns_its_own_arm_and_shows_in_the_tables(uninterrupted, tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## A first task")[1].split("## ")[0]
    (block,) = re.findall(r"^```bash\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    run, keep, edit, dry, again, compare, _ = commands(block)
    assert run == again
    copy = Copy(tmp_path, uninterrupted)  # in which the first of the commands has run
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results/smoke/mini-xs").rglob("*.safetensors")}
    kept = shadow(copy)
    assert copy.run("bash", "-c", f"{keep} && {edit}").returncode == 0
    planned = Counter(rule for rule, _, _ in copy.planned("--configfile", "configs/studies/smoke.yaml"))
    assert planned["train"] == planned["generate"] == 2 and "pretrain" not in planned and "--dry-run" in dry
    done = copy.run(*again.replace("--cores all", "--cores 2").split())
    assert done.returncode == 0, done.stdout[-3000:]
    changed = {path.parts[-5] for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert changed == {"ict-10"}
    compared = copy.run(*compare.split())
    assert compared.returncode == 1 and "ict-10" in compared.stdout
    assert kept == pytest.approx(0.1, abs=0.03) and shadow(copy) == pytest.approx(0.25, abs=0.03)


def shadow(copy: Copy) -> float:
    """The share of the tokens that ICT-10 keeps, as the table has it."""
    rows = pd.read_csv(copy.folder / "results/smoke/tables/shadow.csv").query("rule == 'ict-10'")
    return float(rows.set_index("quantity").loc["kept_share", "mean"])
