"""What a training shows of itself: lines of progress, and what transformers' own callbacks hand to the trackers."""

import json
import os

import pandas as pd
import pytest
from test_run import trained
from test_trainer import recipe

from ict_core.errors import UserError
from ict_core.process.environment import check_trackers
from ict_core.process.job_log import read
from ict_core.training.run import Tracking, grpo_config

VARIABLES = ("TENSORBOARD_LOGGING_DIR", "WANDB_DIR", "WANDB_PROJECT", "TRACKIO_DIR")


@pytest.mark.slow
def test_a_training_shows_its_steps_and_its_manifest_has_no_path(tiny_checkpoint, tmp_path, rewards, capsys):
    _, manifest = trained(tiny_checkpoint, tmp_path / "run", steps=2, updates_per_rollout=2)
    reward = pd.read_parquet(tmp_path / "run/log.parquet")["reward"].iloc[0]
    shown = capsys.readouterr()
    assert shown.out == ""  # no dictionaries of TRL's
    readings = [found for text in shown.err.splitlines() if (found := read(text))]
    assert [reading[:3] for reading in readings] == [("step", 1, 2), ("step", 2, 2)]
    assert [reading.values["reward"] for reading in readings] == [pytest.approx(reward, abs=0.005)] * 2
    assert str(tmp_path) not in json.dumps(manifest)


def test_trackers_get_the_study_the_cell_and_a_folder_and_a_project_that_is_set_stays(tmp_path, monkeypatch):
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "")  # so that it is put back
        monkeypatch.delenv(variable)
    folder = tmp_path / "trackers/m/v/seed-0"
    tracking = Tracking(("tensorboard", "trackio", "wandb"), folder, "a-study", "m/v/seed-0")
    args = grpo_config(recipe(), 0, tmp_path, tracking=tracking)
    assert args.report_to == ["tensorboard", "trackio", "wandb"] and folder.is_dir()
    assert (args.run_name, args.project) == ("m/v/seed-0", "a-study")
    environment = {variable: os.environ.get(variable) for variable in VARIABLES}
    assert environment == dict.fromkeys(VARIABLES, str(folder)) | {"WANDB_PROJECT": "a-study"}
    grpo_config(recipe(), 0, tmp_path, tracking=tracking._replace(project="another"))
    assert os.environ["WANDB_PROJECT"] == "a-study"
    assert grpo_config(recipe(), 0, tmp_path).report_to == []


def test_a_tracker_that_is_not_installed_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr("ict_core.process.environment.find_spec", lambda name: None if name == "wandb" else name)
    check_trackers(["tensorboard"])
    with pytest.raises(UserError, match="^trackers: wandb .* `pip install wandb`"):
        check_trackers(["tensorboard", "wandb"])
