"""What a training shows of itself: lines of progress, and what transformers' own callbacks hand to the trackers."""

import json
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest
from test_run import ParityPool, trained

from ict_core.errors import UserError
from ict_core.process import check_trackers, read
from ict_core.training import Tracking

VARIABLES = ("TENSORBOARD_LOGGING_DIR", "WANDB_DIR", "WANDB_PROJECT", "TRACKIO_DIR")


@pytest.fixture
def trackers(monkeypatch):
    """Modules in the place of the trackers' packages, and what was called in them: (name, arguments, environment)."""
    calls = []

    def called(name, result=None):
        def call(*arguments, **keywords):
            environment = {variable: os.environ.get(variable) for variable in VARIABLES}
            calls.append((name, arguments, keywords, environment))
            return result

        return call

    class Config(dict):
        def update(self, *_, **__):
            pass

    def module(name, **contents):
        made = ModuleType(name)
        made.__spec__ = ModuleSpec(name, None)
        vars(made).update(contents)
        monkeypatch.setitem(sys.modules, name, made)

    context = SimpleNamespace(current_space_id=SimpleNamespace(get=lambda: None))
    same = {"config": Config(), "finish": called("finish")}
    module("trackio", init=called("trackio.init"), log=called("trackio.log"), context_vars=context, **same)
    run = SimpleNamespace(_label=lambda **_: None, summary={})
    wandb = {"run": run, "init": called("wandb.init"), "log": called("wandb.log"), "define_metric": called("define")}
    module("wandb", **wandb, **same)
    module("wandb.sdk.lib.config_util", ConfigError=KeyError)
    for name in ("trackio", "wandb"):  # TRL imports what is installed when it is imported itself
        monkeypatch.setattr(f"trl.extras.profiling.{name}", sys.modules[name], raising=False)
    module("tensorboard")  # none that torch takes: transformers falls back on tensorboardX
    writer = SimpleNamespace(add_scalar=called("tensorboard.scalar"), add_text=called("tensorboard.text"))
    writer.flush = writer.close = lambda: None
    module("tensorboardX", SummaryWriter=called("tensorboard.open", writer))
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "")  # so that it is put back
        monkeypatch.delenv(variable)
    return calls


@pytest.mark.slow
def test_a_training_shows_its_steps_and_reports_to_its_trackers(
    tiny_checkpoint, tmp_path, monkeypatch, capsys, trackers
):
    monkeypatch.setattr("ict_core.training._run.GradingPool", ParityPool)
    folder = tmp_path / "trackers/m/v/seed-0"
    tracking = Tracking(("tensorboard", "trackio", "wandb"), folder, "a-study", "m/v/seed-0")
    _, manifest = trained(tiny_checkpoint, tmp_path / "run", tracking=tracking)
    reward = pd.read_parquet(tmp_path / "run/log.parquet")["reward"].iloc[0]
    shown = capsys.readouterr()
    assert shown.out == ""  # no dictionaries of TRL's
    (reading,) = [found for text in shown.err.splitlines() if (found := read(text))]
    assert reading[:3] == ("step", 1, 1) and reading.values["reward"] == pytest.approx(reward, abs=0.005)

    by_name = {name: (arguments, keywords) for name, arguments, keywords, _ in reversed(trackers)}
    assert by_name["tensorboard.open"] == ((), {"log_dir": str(folder)})
    assert by_name["trackio.init"][1].items() >= {"project": "a-study", "name": "m/v/seed-0", "space_id": None}.items()
    scalars = {arguments[0]: arguments[1:] for name, arguments, *_ in trackers if name == "tensorboard.scalar"}
    assert scalars["train/reward"] == (reward, 1)
    for tracker in ("trackio", "wandb"):
        logs = [arguments[0] for name, arguments, *_ in trackers if name == f"{tracker}.log"]
        steps = [(log["train/reward"], log["train/global_step"]) for log in logs if "train/reward" in log]
        assert steps == [(reward, 1)]  # the rest are TRL's timings, and the end
    environment = next(environment for name, _, _, environment in trackers if name == "trackio.init")
    assert environment == dict.fromkeys(VARIABLES, str(folder)) | {"WANDB_PROJECT": "a-study"}
    assert manifest["trl"]["report_to"] == ["tensorboard", "trackio", "wandb"]
    assert manifest["trl"]["run_name"] == "m/v/seed-0"
    assert str(tmp_path) not in json.dumps(manifest)


def test_a_tracker_that_is_not_installed_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr("ict_core.process._environment.find_spec", lambda name: None if name == "wandb" else name)
    check_trackers(["tensorboard"])
    with pytest.raises(UserError, match="^trackers: wandb is not installed here; run `pip install wandb`"):
        check_trackers(["tensorboard", "wandb"])
