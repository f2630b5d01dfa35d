import numpy as np
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics._arms import Arm, arms_of, common_seeds, count_matrices, difference

OURS = Arm("m/ict", (1, 2), {"a": np.array([[0.5, 1.0], [0.0, 0.5]]), "b": np.array([[0.25], [0.75]])})
THEIRS = Arm("m/grpo", (1, 2), {"a": np.array([[0.5, 0.0], [0.0, 0.0]]), "b": np.array([[0.0], [1.0]])})


def test_the_runs_of_an_arm_by_hand():
    assert OURS.benchmarks == ["a", "b", "average"]
    assert OURS.runs("a") == pytest.approx([0.75, 0.25]) and OURS.runs("b") == pytest.approx([0.25, 0.75])
    # a weighs as much as b although it has twice the problems
    assert OURS.runs("average") == pytest.approx([0.5, 0.5])
    assert [block.shape for block in OURS.of("average")] == [(2, 2), (2, 1)] and len(OURS.of("b")) == 1


def test_the_difference_is_paired_by_seed_and_problem():
    gap = difference(OURS, THEIRS)
    assert gap.seeds == (1, 2) and gap.name == "m/ict - m/grpo"
    assert gap.blocks["a"].tolist() == [[0, 1], [0, 0.5]] and gap.blocks["b"].tolist() == [[0.25], [-0.25]]
    for benchmark in gap.benchmarks:
        assert gap.runs(benchmark) == pytest.approx(OURS.runs(benchmark) - THEIRS.runs(benchmark))


def test_arms_are_paired_by_the_seeds_that_both_have():
    ours, theirs = common_seeds(OURS, Arm("m/grpo", (2, 3), THEIRS.blocks))
    assert ours.seeds == theirs.seeds == (2,)
    assert ours.blocks["a"].tolist() == [[0.0, 0.5]] and theirs.blocks["a"].tolist() == [[0.5, 0.0]]
    with pytest.raises(UserError, match=r"m/ict has \[1, 2\], m/grpo \[3, 4\]"):
        common_seeds(OURS, Arm("m/grpo", (3, 4), THEIRS.blocks))


def test_an_arm_holds_the_metric_of_every_problem():
    scores = synthetic.scores(models=["tiny"], variants=["grpo"], seeds=(2, 1))
    arms = arms_of(count_matrices(scores), "pass@1")
    assert list(arms) == [("tiny", "base"), ("tiny", "grpo")]
    arm = arms["tiny", "grpo"]
    assert arm.name == "tiny/grpo" and arm.seeds == (1, 2) and list(arm.blocks) == list(synthetic.BENCHMARKS)
    share = (scores["correct"] / scores["n"]).groupby([scores["variant"], scores["seed"], scores["benchmark"]]).mean()
    for benchmark in arm.blocks:
        assert arm.runs(benchmark) == pytest.approx(share["grpo"].unstack()[benchmark].loc[[1, 2]].to_numpy())
