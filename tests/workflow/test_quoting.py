"""Nothing of a path or of a study is taken apart, or run, by a shell."""

import json
import shutil
from pathlib import Path
from string import Formatter

import pytest
from killing import differences
from repository_copy import Copy

from ict_core.store.records import content_hash

ODD = "a b'c\"; $(touch pwned) `touch pwned` & *"
STUDY = "configs/studies/smoke.yaml"
SHELLS = """

for rule in workflow.rules:
    print("shell:", json.dumps([rule.name, rule.shellcmd]))
"""


@pytest.fixture
def odd(tmp_path) -> Copy:
    """A copy of the repository in a folder of such a name, beside the study's own files in another one."""
    copy = Copy(tmp_path / f"copy {ODD}")
    shutil.copytree(copy.folder / "configs", tmp_path / f"study {ODD}" / "configs")
    return copy


def study_beside(copy: Copy) -> tuple[str, str]:
    return "--configfile", f"../study {ODD}/{STUDY}"


def frames(results: Path) -> dict[Path, str]:
    """What each frame of a study holds, but for wall times."""
    files = [path for path in results.rglob("*.parquet") if path.stem not in ("compute", "timing")]
    assert len(files) > 40
    return {path.relative_to(results): content_hash(path) for path in files}


@pytest.mark.slow
def test_every_rule_quotes_all_that_it_fills_in(tmp_path):
    copy = Copy(tmp_path)
    for file in ("Snakefile", "workflow/reference.smk"):
        (tmp_path / file).write_text((tmp_path / file).read_text() + SHELLS)
    given = [["--configfile", str(study)] for study in sorted(tmp_path.glob("configs/studies/*.yaml"))]
    given.append(["--snakefile", "workflow/reference.smk"])
    for options, printed in zip(given, copy.snakemakes([["--list-rules", *options] for options in given]), strict=True):
        lines = [line.removeprefix("shell: ") for line in printed.splitlines() if line.startswith("shell: ")]
        shells = {name: shell for name, shell in map(json.loads, lines) if shell}
        assert {"statistics", "claims", "report"} <= shells.keys(), (options, printed)
        filled = {name: [(f, spec) for _, f, spec, _ in Formatter().parse(shells[name]) if f] for name in shells}
        assert min(map(len, filled.values())) > 0
        assert [(name, f) for name, fields in filled.items() for f, spec in fields if spec != "q"] == []


@pytest.mark.slow
def test_a_job_reads_a_study_whose_folder_has_a_name_that_a_shell_would_run(odd, tmp_path):
    result = odd.snakemake("results/smoke/study.json", *study_beside(odd))
    assert result.returncode == 0, result.stdout[-3000:]
    assert (odd.folder / "results/smoke/study.json").exists()
    assert [*tmp_path.rglob("pwned")] == []


@pytest.mark.long
@pytest.mark.slow
def test_a_study_in_folders_of_such_names_ends_with_the_same_bytes(odd, uninterrupted, tmp_path):
    result = odd.snakemake(*study_beside(odd))
    assert result.returncode == 0, result.stdout[-5000:]
    made, plain = odd.folder / "results/smoke", uninterrupted / "results/smoke"
    assert differences(made, plain) == [] and frames(made) == frames(plain)
    assert [*tmp_path.rglob("pwned")] == []
