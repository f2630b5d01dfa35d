"""How a training is started: an edit of accelerate's file makes the trainings old that it starts, and no other."""

import ast
import shutil
from pathlib import Path

import pytest

from ict_core.config.load import load_study
from ict_core.config.study_file import Cell
from ict_core.jobs import launch

REPOSITORY = Path(__file__).resolve().parents[2]
GIVEN = "train_settings"


@pytest.fixture
def given(tmp_path):
    """What the rule `train` is given as the settings of a model of a study, in a copy of the configurations."""
    shutil.copytree(REPOSITORY / "configs", tmp_path / "configs")
    (rule,) = [
        node
        for node in ast.parse((REPOSITORY / "workflow/rules/common.smk").read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == GIVEN
    ]

    def settings(study: str, model: str) -> str:
        file = tmp_path / f"configs/studies/{study}.yaml"
        names = {
            "STUDY": load_study(file),
            "STUDY_FILE": file,
            "job": launch,
            "settings": lambda stage, cell: f"{stage} {cell.folder}",
            "cell_of": lambda wildcards: wildcards,
        }
        exec(compile(ast.Module([rule], []), "common.smk", "exec"), names)  # noqa: S102
        return names[GIVEN](Cell(model, "grpo", 0))

    return settings


def test_an_edit_of_the_launcher_s_file_changes_what_the_trainings_that_it_starts_are_given(given, tmp_path):
    cells = [("paper", "qwen2.5-7b"), ("paper", "qwen2.5-0.5b"), ("smoke", "mini-xs")]
    before = [given(*cell) for cell in cells]
    assert before[2] == "train mini-xs/grpo/seed-0"  # as without a launcher's file
    file = tmp_path / "configs/accelerate/fsdp2.yaml"
    text = file.read_text()
    file.write_text(text.replace('mixed_precision: "no"', "mixed_precision: bf16"))
    assert [given(*cell) != was for cell, was in zip(cells, before, strict=True)] == [True, False, False]
