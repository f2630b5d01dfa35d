"""The workflow as a module of another Snakefile."""

import re
from collections import Counter

import pytest
from repository_copy import Copy

MODULE = """\
module ict:
    snakefile: "{folder}/Snakefile"
    config: config


use rule * from ict as ict_*


rule best:
    default_target: True
    input: "results/smoke/tables/main.csv"
    output: "best.txt"
    shell: "head -2 {{input:q}} > {{output:q}}"
"""


@pytest.mark.slow
def test_another_snakefile_uses_its_rules_from_a_folder_of_its_own(tmp_path):
    copy, own = Copy(tmp_path / "copy"), tmp_path / "own"
    own.mkdir()
    (own / "Snakefile").write_text(MODULE.format(folder=copy.folder))
    study = str(copy.folder / "configs/studies/smoke.yaml")
    planned = copy.run(
        "snakemake", "--dry-run", "--directory", str(own), "--snakefile", str(own / "Snakefile"), "--configfile", study
    )
    assert planned.returncode == 0, planned.stdout[-3000:]
    jobs = Counter({name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", planned.stdout, re.MULTILINE)})
    assert jobs["ict_train"] == 4 and jobs["ict_grade"] == 6 and jobs["best"] == 1
    snakemake = ("snakemake", "--cores", "1", "--directory", str(own), "--snakefile", str(own / "Snakefile"))
    made = copy.run(*snakemake, "--configfile", study, "--", "results/smoke/data/eval.parquet")
    assert made.returncode == 0, made.stdout[-3000:]
    assert (own / "results/smoke/data/eval.parquet").exists() and not (copy.folder / "results/smoke").exists()
