"""No shell takes a path apart, or runs it. The smoke study of conftest.py runs in a folder of such a name."""

import json
import shutil
from string import Formatter

import pytest
from repository_copy import ODD, Copy

STUDY = "configs/studies/smoke.yaml"
SHELLS = """

for rule in workflow.rules:
    print("shell:", json.dumps([rule.name, rule.shellcmd]))
"""


@pytest.mark.slow
def test_every_rule_quotes_all_that_it_fills_in(tmp_path):
    copy = Copy(tmp_path)
    for file in ("Snakefile", "workflow/reference.smk"):
        (tmp_path / file).write_text((tmp_path / file).read_text() + SHELLS)
    given = [["--configfile", STUDY], ["--snakefile", "workflow/reference.smk"]]
    for options, printed in zip(given, copy.snakemakes([["--list-rules", *options] for options in given]), strict=True):
        lines = [line.removeprefix("shell: ") for line in printed.splitlines() if line.startswith("shell: ")]
        shells = {name: shell for name, shell in map(json.loads, lines) if shell}
        assert {"statistics", "claims", "report"} <= shells.keys(), (options, printed)
        filled = {name: [(f, spec) for _, f, spec, _ in Formatter().parse(shells[name]) if f] for name in shells}
        assert min(map(len, filled.values())) > 0
        assert [(name, f) for name, fields in filled.items() for f, spec in fields if spec != "q"] == []


@pytest.mark.slow
@pytest.mark.parametrize("given", ["--config=study=", "--configfile="])
def test_a_job_reads_a_study_whose_folder_has_a_name_that_a_shell_would_run(tmp_path, given):
    copy = Copy(tmp_path / "copy")
    shutil.copytree(copy.folder / "configs", tmp_path / ODD / "configs")
    copy.made(f"{given}../{ODD}/{STUDY}", "results/smoke/study.json")
    assert (copy.folder / "results/smoke/study.json").exists()
    assert [*tmp_path.rglob("pwned")] == []
