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
    there = ("--directory", str(own), "--snakefile", str(own / "Snakefile"), "--configfile", study)
    planned = re.findall(r"^(\w+) +(\d+)$", copy.made("--dry-run", *there), re.MULTILINE)
    jobs = Counter({name: int(count) for name, count in planned})
    assert jobs["ict_train"] == 4 and jobs["ict_grade"] == 6 and jobs["best"] == 1
    copy.made(*there, "--", "results/smoke/data/eval.parquet")
    assert (own / "results/smoke/data/eval.parquet").exists() and not (copy.folder / "results/smoke").exists()
