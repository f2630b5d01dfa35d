"""Two processes are one trainer: groups that lie on both keep the same tokens and give the same loss."""

import json

import pandas as pd
import pytest
import torch
from launch import RECIPE, TOP, start, train

pytestmark = pytest.mark.long
RULES = {
    "ict": {"selector": "top-score"},
    "kl-by-batch": {"selector": "top-score", "keywords": TOP | {"score": "kl", "scope": "batch"}},
    "entropy": {"selector": "high-entropy", "normaliser": "response"},
    "entropy-by-batch": {"selector": "high-entropy", "normaliser": "batch_tokens"},
    "random": {"selector": "top-score", "keywords": TOP | {"score": "random"}},
}
OWN = {"selector": "top-score", "served": False, "training": {"prompts_per_step": 2}}  # samples its rollouts itself
LONG = {"prompts_per_step": 2, "steps": 3}
KILLED = {"served": False, "killed_at": 2, "training": LONG | {"checkpoint_every": 1}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_checkpoint):
    """The same trainings by one rank and by two."""
    folder = tmp_path_factory.mktemp("ranks")
    random = RULES["random"]
    own = {"own": OWN, "kept": random | {"recorded": True}}
    own |= {"whole": RULES["entropy"] | {"training": {"prompts_per_step": 2, "micro_batch_sequences": 4}}}
    own |= {"recorded": random | {"served": False, "training": LONG, "recorded": True}}
    own |= {"long": random | {"served": False, "training": LONG}, "killed": random | KILLED}
    return [train(folder, tiny_checkpoint, ranks, **RULES, **own) for ranks in (1, 2)]


@pytest.mark.parametrize("rule", RULES)
def test_two_ranks_keep_the_tokens_of_one_and_train_the_same_weights(runs, rule):
    one, two = (of_ranks[rule] for of_ranks in runs)
    assert (one.ranks, two.ranks) == (1, 2)
    # three groups of four lie on two ranks of six rows: the second group is torn
    assert one.tokens.groupby(["step", "group"])["rollout"].nunique().tolist() == [4] * 6
    same = ["step", "group", "rollout", "position", "token", "kept"]
    pd.testing.assert_frame_equal(one.tokens[same], two.tokens[same])
    assert 0 < one.steps["kept_share"].iloc[0] < 1
    pd.testing.assert_frame_equal(one.steps, two.steps, rtol=1e-4, atol=1e-6)
    assert one.steps["loss"].iloc[1] != 0
    assert one.weights.keys() == two.weights.keys()
    for name, weight in one.weights.items():
        torch.testing.assert_close(two.weights[name], weight, rtol=0, atol=2e-5)


def test_ranks_whose_step_is_one_micro_batch_of_whole_groups_average_their_gradients(runs):
    one, two = (of_ranks["whole"] for of_ranks in runs)
    pd.testing.assert_frame_equal(one.steps, two.steps, rtol=1e-4, atol=1e-6)
    for name, weight in one.weights.items():
        torch.testing.assert_close(two.weights[name], weight, rtol=0, atol=2e-5)


def test_ranks_sample_rollouts_of_their_own(runs):
    texts = runs[1]["own"].tokens.groupby(["step", "group", "rollout"])["token"].apply(tuple)
    assert len(texts) == 2 * 2 * 4 and texts.is_unique


def test_ranks_record_what_one_records_and_train_as_without(runs):
    one, two = (of_ranks["kept"].files for of_ranks in runs)
    pd.testing.assert_frame_equal(*(pd.read_parquet(files.learning_curve) for files in (one, two)))
    for file in sorted(one.rollouts.iterdir()):
        pd.testing.assert_frame_equal(*(pd.read_parquet(f.rollouts / file.name) for f in (one, two)), rtol=1e-4)
    for of_ranks in runs:
        curve = pd.read_parquet(of_ranks["recorded"].files.learning_curve)
        assert curve.groupby("step").size().to_dict() == {0: 10, 1: 10, 2: 10, 3: 10}
        weights = of_ranks["recorded"].weights
        assert all(torch.equal(weights[name], weight) for name, weight in of_ranks["long"].weights.items())


def test_ranks_that_were_killed_resume_together(runs):
    for ranks, of_ranks in zip((1, 2), runs, strict=True):
        long, killed = of_ranks["long"], of_ranks["killed"]
        assert (killed.ranks, killed.resumed_at) == (ranks, [2])
        pd.testing.assert_frame_equal(long.steps, killed.steps, check_exact=True, check_like=True)
        pd.testing.assert_frame_equal(long.tokens, killed.tokens, check_exact=True)
        assert all(torch.equal(killed.weights[name], weight) for name, weight in long.weights.items())


def test_statistics_and_gradients_of_a_model_that_is_sharded_over_two_ranks(tmp_path, tiny_checkpoint):
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    arguments = (str(tiny_checkpoint), str(tmp_path / "recipe.json"), str(tmp_path))
    done = start("sharded_statistics.py", *arguments, ranks=2)
    assert done.returncode == 0, done.stderr[-4000:]
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts["ranks"] == 2 and facts["sharded"]
    assert all(value > 0 for value in facts["largest"].values())
    assert max(facts["apart"].values()) < 1e-5
    assert facts["gradient_apart"] < 1e-5 * facts["gradient"]
