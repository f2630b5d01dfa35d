"""Rules that the rewards of a tuning settle, by hand."""

import json
import shutil
from collections import Counter
from typing import Any

import pytest

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.evidence.bench import Screened, bench_controls, rules_of, screening
from ict_core.evidence.stored import Settings
from ict_core.store.layout import REPOSITORY, StudyFiles, stored_folder
from ict_core.store.manifests import read_manifest, write_manifest

CONTROLS = {"close-permuted": "close", "close-mean-one": "close", "far-permuted": "far"}


def arm(rate: float, *rewards: float) -> dict[str, Any]:
    """A tuned arm: the rewards at the chosen rate on seeds 1, 2, ..., and a better one on one seed at another rate."""
    by_seed = {str(seed): reward for seed, reward in enumerate(rewards, 1)}
    return {"learning_rate": rate, "rewards": {"0.01": {"1": 0.99}, f"{rate:g}": by_seed}}


ARMS = {
    "s/grpo": arm(1e-3, 0.90, 0.80, 0.70, 0.60),
    "s/close": arm(1e-3, 0.91, 0.80, 0.70, 0.61),
    "s/close-permuted": arm(3e-4, 0.91, 0.80, 0.69, 0.60),
    "s/close-mean-one": arm(3e-4, 0.91, 0.80, 0.70, 0.61),
    "s/far": arm(1e-3, 0.91, 0.80, 0.70, 0.61),
    "s/far-permuted": arm(1e-3, 0.89, 0.80, 0.68, 0.61),
    "s/alone": arm(1e-3, 0.93, 0.83, 0.73, 0.63),
}


def test_a_rule_is_settled_where_the_interval_of_its_reward_less_its_controls_is_within_the_margin():
    found = list(screening(ARMS, ["close", "far", "alone"], CONTROLS, "grpo", 0.02))
    assert [one[:3] for one in found] == [
        ("s", "close", "close-permuted"),
        ("s", "close", "close-mean-one"),
        ("s", "far", "far-permuted"),
        ("s", "alone", "grpo"),
    ]
    # the differences are 0, 0, 1 and 1 points: mean 0.5, standard deviation 0.57735, t of 3 degrees of freedom 3.18245
    assert found[0][3:] == pytest.approx((0.005, 0.005 - 0.0091869, 0.005 + 0.0091869, True), abs=1e-7)
    assert found[1] == Screened("s", "close", "close-mean-one", 0.0, 0.0, 0.0, True)  # the same on all seeds
    # 2, 0, 2 and 0 points: 1 ± 1.8374 of which the upper limit is beyond 2
    assert found[2][3:] == pytest.approx((0.01, 0.01 - 0.0183738, 0.01 + 0.0183738, False), abs=1e-7)
    assert found[3].difference == pytest.approx(0.03) and not found[3].settled


def test_one_seed_settles_nothing_and_a_model_s_rule_is_beside_the_controls_that_the_model_has():
    one_seed = {name: arm(1e-3, 0.9) for name in ("s/grpo", "s/far")}
    (found,) = screening(one_seed | {"m/grpo": arm(1e-3, 0.8)}, ["far"], CONTROLS, "grpo", 0.02)
    assert found[:4] == ("s", "far", "grpo", 0.0) and not found.settled


def test_ict_screen_reads_the_rates_that_a_bench_chose(tmp_path, capsys):
    shutil.copytree(REPOSITORY / "configs", tmp_path / "configs")
    study = tmp_path / "configs/studies/rules-rates.yaml"
    assert main(["screen", str(study)]) == 2
    assert "rates.json" in capsys.readouterr().err
    bench, tuning = load_study(study), {"tuning": {"seeds": [970]}}
    configs = {v: json.loads(json.dumps(bench.tuned_config("mini-s", v))) for v in bench.methods}
    arms = {f"mini-s/{v}": arm(1e-3, 0.5, 0.6, 0.7, 0.8) | {"config": config} for v, config in configs.items()}
    arms["mini-s/psr"] |= arm(1e-3, 0.4, 0.6, 0.7, 0.8)
    write_manifest(tmp_path / "results/rules-rates/rates/rates.json", tuning | {"arms": arms})
    assert main(["screen", str(study)]) == 0
    printed = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed if line.startswith("| mini-s")]
    assert ["mini-s", "gmts-20", "gmts-20-same-sign", "+0.0 ± 0.0", "yes"] in rows
    assert ["mini-s", "psr", "psr-permuted", "−2.5 ± 8.0", "no"] in rows
    assert ["mini-s", "psr", "grpo", "−2.5 ± 8.0", "no"] in rows  # told, though the control decides
    assert sum(row[1:3] == ["nat-50", "grpo"] for row in rows) == 1  # a rule without a control has one row
    assert {"oracle-decisions", "grpo"}.isdisjoint(row[1] for row in rows)  # arms of the gates are no rules
    assert printed[-1].endswith("open: psr")
    arms["mini-s/nsr"]["config"]["training"]["steps"] = 47
    for told in ("training.steps", "no rate of mini-s/nsr"):
        write_manifest(tmp_path / "results/rules-rates/rates/rates.json", tuning | {"arms": arms})
        assert main(["screen", str(study)]) == 2
        assert told in capsys.readouterr().err
        arms.pop("mini-s/nsr", None)
    assert main(["screen", str(study.with_name("mini.yaml"))]) == 2
    assert "mini.yaml" in capsys.readouterr().err


def test_the_second_stage_of_the_bench_has_what_the_first_leaves_open_on_fresh_seeds():
    studies = {path.stem: load_study(path) for path in (REPOSITORY / "configs/studies").glob("*.yaml")}
    first, second = studies.pop("rules-rates"), studies.pop("rules")
    settings = Settings.of(first.stage_config("evidence"))
    controls, rates = bench_controls(settings), StudyFiles(REPOSITORY / stored_folder(first.name)).rates
    found = list(screening(read_manifest(rates)["arms"], rules_of(settings), controls, "grpo", settings.margin))
    left = {one.rule for one in found if not one.settled}
    of_gates = {"grpo", "grpo-replica", "oracle-decisions", "oracle-decisions-permuted"}
    asked = {variant for variant in settings.variants if variant in left or controls.get(variant) in left}
    assert set(second.methods) == asked | of_gates and len(left) < len(rules_of(settings))
    assert {cell.seed for cell in second.cells()}.isdisjoint(cell.seed for s in studies.values() for cell in s.cells())
    seeds = Counter(cell.variant for cell in second.cells())
    assert [seeds.pop(variant) for variant in sorted(of_gates)] == [40, 40, 20, 20] and set(seeds.values()) == {12}
    assert Settings.of(second.stage_config("evidence")).validity == settings.validity
