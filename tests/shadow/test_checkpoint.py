"""Every rule on a checkpoint's own rollouts: the frames, and the parameters' gradient prompt by prompt."""

import dataclasses
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from shadow_frames import METHODS

from ict_core.commands.cli import main
from ict_core.errors import UserError
from ict_core.problems.mini.decisions import decision_tokens
from ict_core.problems.mini.problems import evaluation_problems
from ict_core.selection.base import Rule, distinct_rules
from ict_core.shadow.checkpoint import GroupSampling, gradients, sample_groups, score_groups
from ict_core.shadow.gradients import gradient_shares
from ict_core.store import layout, records

NAMES = ("grpo", "ict-10", "entropy-20", "random-10", "stapo", "conflict")
RULES = [rule for rule in distinct_rules(METHODS) if rule.name in NAMES]
TEMPERATURE = 0.8


@pytest.fixture(scope="module")
def problems():
    return evaluation_problems(0, {"mini-word": ("word", 3), "mini-stem": ("stem", 3)})


@pytest.fixture(scope="module")
def groups(tiny_checkpoint, problems):
    """Rollouts of a random model, with advantages as if some had been right."""
    sampling = GroupSampling(group_size=3, temperature=TEMPERATURE, max_new_tokens=10, seed=1, known_forks=True)
    found = sample_groups(tiny_checkpoint, problems[:2], sampling, {"seconds": 5.0, "memory_mib": 1024})
    lengths = torch.tensor([10, 4, 7, 2, 10, 1])
    mask = torch.arange(found.completion_ids.size(1)) < lengths[:, None]
    return dataclasses.replace(found, completion_mask=mask, advantages=torch.tensor([1.0, -0.5, -0.5, 0.0, 2.0, -2.0]))


def test_gradients_are_means_over_the_prompts(groups):
    g = torch.Generator().manual_seed(0)
    half = groups.completion_mask & (torch.rand(groups.completion_mask.shape, generator=g) < 0.5)
    found = gradients(groups, [groups.completion_mask, half, torch.zeros_like(half)], TEMPERATURE)
    alone = []
    for rows in (slice(0, 3), slice(3, 6)):
        part = groups.rollouts.rows(rows)
        own = half[rows, : part.completion_ids.size(1)]
        alone.append(gradient_shares(groups.model, part, groups.advantages[rows], [own], TEMPERATURE, packed=False)[0])
    assert found["norm_share"].tolist() == pytest.approx([1, np.mean([share for share, _ in alone]), 0])
    assert found["cosine"].tolist()[:2] == pytest.approx([1, np.mean([cosine for _, cosine in alone])])
    assert np.isnan(found["cosine"].iloc[2]) and all(p.grad is None for p in groups.model.parameters())
    level = dataclasses.replace(groups, advantages=torch.zeros(6))
    assert gradients(level, [half], TEMPERATURE).isna().all(axis=None)


def test_the_tokens_that_decide_are_told_where_the_steps_are_known(groups):
    oracle = Rule("oracle", "oracle-decisions", {})
    scored = score_groups(groups, [*RULES, oracle], 3, TEMPERATURE)
    decisions, mask = groups.decisions([oracle]), groups.completion_mask
    prompts = groups.problems["prompt"].repeat(3)
    for row, prompt in enumerate(prompts):
        ids = groups.completion_ids[row][mask[row]].tolist()
        assert decisions[row][mask[row]].tolist() == decision_tokens(groups.tokenizer, prompt, ids)
    kept = scored["shadow"].set_index("rule").loc["oracle", "kept_share"]
    assert kept == pytest.approx(decisions.sum().item() / 34) and 0 < kept < 1
    assert groups.decisions(RULES) is None and "decides" not in scored["tokens"]
    with pytest.raises(UserError, match="oracle: reads true steps"):
        dataclasses.replace(groups, forks=torch.full_like(groups.forks, torch.nan)).decisions([oracle])


def test_scored_frames_are_those_of_the_sampled_groups(groups):
    scored = score_groups(groups, RULES, 3, TEMPERATURE)
    assert len(scored["tokens"]) == 34 and scored["tokens"]["kept"].all()
    mask = groups.completion_mask
    for name, values in {"h1": groups.statistics.h1, "token": groups.completion_ids, "fork": groups.forks}.items():
        assert scored["tokens"][name].tolist() == values[mask].tolist()
    assert scored["gradients"].set_index("rule").loc["grpo"].tolist() == pytest.approx([1, 1])
    assert scored["gradients"]["rule"].tolist() == scored["shadow"]["rule"].tolist() == [rule.name for rule in RULES]


def test_the_command_scores_a_checkpoint(tiny_checkpoint, problems, tmp_path, capsys):
    records.write_frame(problems, tmp_path / "problems.parquet", records.PROBLEMS)
    methods = tmp_path / "methods"
    methods.mkdir()
    for name in ("grpo", "ict-10", "random-10"):
        shutil.copy(layout.METHODS / f"{name}.yaml", methods)
    arguments = ["shadow", tiny_checkpoint, "--problems", tmp_path / "problems.parquet", "--methods", methods]
    arguments += ["--benchmark", "mini-stem", "--count", 2, "--group-size", 3, "--max-new-tokens", 8]

    def run(*more):
        return main([str(a) for a in [*arguments, *more]])

    assert run("--out", tmp_path / "a") == 0 and run("--out", tmp_path / "b") == 0
    assert "norm_share" in (out := capsys.readouterr().out) and "random-10" in out and "of 6 rollouts" in out
    for name in ("tokens", "shadow", "overlap", "gradients"):
        one, two = (tmp_path / folder / f"{name}.parquet" for folder in "ab")
        assert one.read_bytes() == two.read_bytes()
        assert len(records.read_frame(one, getattr(records, name.upper()))) >= 3
    assert pd.read_parquet(one.with_name("shadow.parquet"))["forks"].isna().all()  # not said to be the mini world's
    wrong = ("benchmark", "mini-stm", "mini-stem"), ("count", 4, "1 to 3"), ("temperature", 0, "above 0")
    for option, value, words in wrong:
        assert run("--out", tmp_path / "c", f"--{option}", value) == 2
        assert words in capsys.readouterr().err


def test_forks_that_no_problem_has_are_refused(tmp_path, capsys, problems):
    asked = problems.assign(prompt="What is 2 + 3?")
    records.write_frame(asked, tmp_path / "eval.parquet", records.PROBLEMS)
    call = ["shadow", "x", "--problems", str(tmp_path / "eval.parquet"), "--out", str(tmp_path), "--known-forks"]
    assert main([*call, "--count", "2"]) == 2
    assert "--known-forks: " in capsys.readouterr().err
