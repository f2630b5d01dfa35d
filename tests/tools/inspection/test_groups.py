"""Sampled groups and what is read from them, against the whole softmax in float64."""

import json
import math
import shutil

import numpy as np
import pytest
import torch

from ict_core.errors import UserError
from ict_core.grading.boxes import Verdict
from ict_core.grading.pool import GradingPool
from ict_core.problems.mini.problems import evaluation_problems
from ict_core.shadow.checkpoint import Groups, GroupSampling, group_advantages, sample_groups
from ict_core.store.token_scores import STATISTICS, UNSAMPLED_SCORES

GRADING = {"seconds": 5.0, "memory_mib": 1024}
SIZE, TEMPERATURE, STOPS = 3, 0.8, list(range(30))


def sampled(checkpoint, problems, **changed) -> Groups:
    options = {"group_size": SIZE, "temperature": TEMPERATURE, "max_new_tokens": 24, "seed": 5, "known_forks": True}
    return sample_groups(checkpoint, problems, GroupSampling(**options | changed), GRADING)


@pytest.fixture(scope="module")
def problems():
    return evaluation_problems(0, {"mini-word": ("word", 2), "mini-stem": ("stem", 1)})


@pytest.fixture(scope="module")
def checkpoint(tiny_checkpoint, tmp_path_factory):
    """The tiny model with many stop ids, so that its random responses end at different lengths."""
    folder = shutil.copytree(tiny_checkpoint, tmp_path_factory.mktemp("stops") / "model")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": STOPS}))
    return folder


@pytest.fixture(scope="module")
def groups(checkpoint, problems) -> Groups:
    return sampled(checkpoint, problems, alternatives=4)


def entropy(p: np.ndarray) -> np.ndarray:
    return -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(-1)


@pytest.fixture(scope="module")
def distributions(groups) -> list[np.ndarray]:
    """Each rollout's own distributions, (T_i, V), from its prompt and response alone, without padding."""
    found = []
    for row in range(len(groups.rewards)):
        prompt = groups.prompt_ids[row][groups.prompt_mask[row]]
        response = groups.completion_ids[row][groups.completion_mask[row]]
        with torch.no_grad():
            logits = groups.model(input_ids=torch.cat([prompt, response])[None]).logits[0]
        own = logits[len(prompt) - 1 : -1].double() / TEMPERATURE
        found.append(torch.softmax(own, -1).numpy())
    return found


def test_statistics_are_those_of_the_whole_softmax(groups, distributions):
    tokens = groups.statistics
    assert tokens.group_size == SIZE and tokens.names == (*STATISTICS, *UNSAMPLED_SCORES)
    lengths = [len(p) for p in distributions]
    assert groups.completion_mask.sum(-1).tolist() == lengths and len(set(lengths)) > 1
    for row, own in enumerate(distributions):
        ids = groups.completion_ids[row, : len(own)].numpy()
        first = row - row % SIZE
        group = distributions[first : first + SIZE]
        at = [np.array([p[t] for p in group if len(p) > t]) for t in range(len(own))]
        mean = np.array([p.mean(0) for p in at])
        rest = np.array([(p.sum(0) - q) / (len(p) - 1) if len(p) > 1 else q for p, q in zip(at, own, strict=True)])
        refs = {"js": mean, "js_leave_one_out": rest, "js_sequence": own.mean(0), "js_group": np.vstack(group).mean(0)}
        expected = {name: entropy((own + q) / 2) - (entropy(own) + entropy(q)) / 2 for name, q in refs.items()}
        expected["kl"] = (own * np.log(own / mean)).sum(-1)
        expected["tv"] = np.abs(own - mean).sum(-1) / 2
        expected["wasserstein"] = np.abs((own - mean).cumsum(-1)).sum(-1)
        for name, values in expected.items():
            found = tokens[name][row, : len(own)]
            np.testing.assert_allclose(found, values, rtol=1e-3, atol=4e-4 if name == "wasserstein" else 2e-6)
        np.testing.assert_allclose(tokens.logprob[row, : len(own)], np.log(own[range(len(own)), ids]), atol=1e-4)
        np.testing.assert_allclose(tokens.h1[row, : len(own)], entropy(own), atol=1e-4)
        np.testing.assert_allclose(tokens.h2[row, : len(own)], -np.log((own**2).sum(-1)), atol=1e-4)
    assert not tokens.values[:, ~groups.completion_mask].any()


def test_alternatives_are_the_likeliest_tokens(groups, distributions):
    assert groups.alternatives is not None
    for row, own in enumerate(distributions):
        at = np.sort(own, -1)[:, : -4 - 1 : -1]
        ids, probs = (x[row, : len(own)].numpy() for x in (groups.alternatives.ids, groups.alternatives.probs))
        np.testing.assert_allclose(probs, at, rtol=1e-4)
        np.testing.assert_allclose(np.take_along_axis(own, ids, -1), at, rtol=1e-4)
    assert not groups.alternatives.probs[~groups.completion_mask].any()


def test_a_rollout_depends_on_its_own_problem_and_seed_only(checkpoint, problems, groups):
    last = sampled(checkpoint, problems.iloc[2:], known_forks=False)
    length = last.completion_ids.size(1)
    assert torch.equal(last.completion_ids, groups.completion_ids[2 * SIZE :, :length])
    torch.testing.assert_close(
        last.statistics.values, groups.statistics.values[:, 2 * SIZE :, :length], rtol=1e-4, atol=1e-4
    )
    assert last.alternatives is None and last.forks.isnan().all()
    other = sampled(checkpoint, problems.iloc[2:], seed=6)
    assert not torch.equal(other.completion_ids[:, :8], last.completion_ids[:, :8])


def test_rewards_are_the_verifiers(checkpoint, problems, groups, monkeypatch):
    graded = []

    def verdicts(pool, items):
        graded.extend(items)
        return [Verdict.on("", status) for status in ("correct", "timeout", "incorrect")]

    monkeypatch.setattr(GradingPool, "grade", verdicts)
    found = sampled(checkpoint, problems.iloc[:1])
    responses = [ids[mask] for ids, mask in zip(found.completion_ids, found.completion_mask, strict=True)]
    texts = [groups.tokenizer.decode(ids, skip_special_tokens=True) for ids in responses]
    row = problems.iloc[0]
    assert graded == [(text, row["answer"], row["answer_type"]) for text in texts]
    torch.testing.assert_close(found.rewards, torch.tensor([1.0, math.nan, 0.0]), equal_nan=True)
    pair = 0.5 / (0.5**0.5 + 1e-4)
    assert found.advantages.tolist() == pytest.approx([pair, 0, -pair], abs=1e-6)


def test_advantages_by_hand():
    rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, math.nan, 0.0, math.nan, 1.0, math.nan])
    high, pair = (2 / 3) / (3**-0.5 + 1e-4), 0.5 / (0.5**0.5 + 1e-4)
    expected = [high, -high / 2, -high / 2, 0, 0, 0, pair, 0, -pair, 0, 0, 0]
    assert group_advantages(rewards, 3).tolist() == pytest.approx(expected, abs=1e-6)


def test_what_the_model_cannot_hold_is_named(checkpoint, problems, tmp_path):
    with pytest.raises(UserError, match="max_new_tokens: 500 .* the 160"):
        sampled(checkpoint, problems, max_new_tokens=500)
    with pytest.raises(UserError, match="generation_config.json: no such"):
        sampled(tmp_path, problems)
