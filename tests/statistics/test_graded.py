"""The notice of samples that could not be graded, by hand."""

from types import SimpleNamespace

import pandas as pd
import pytest

from ict_core.evidence.stored import Stored
from ict_core.statistics.metrics import ungraded
from ict_core.store.records import SCORES


def scores(lost: dict[tuple[str, int, str], int], sampled=16) -> pd.DataFrame:
    """Two arms with two seeds on a benchmark of two problems and one of four; `lost` samples could not be graded."""
    rows = []
    for variant in ("grpo", "ict-10"):
        for seed in (1, 2):
            for benchmark, problems in (("word", 2), ("aime", 4)):
                for problem in (f"{benchmark}-{i}" for i in range(problems)):
                    n = sampled - lost.get((variant, seed, problem), 0)
                    row = {**dict.fromkeys(SCORES, 0), "model": "tiny", "variant": variant, "seed": seed}
                    row |= {"benchmark": benchmark, "problem": problem, "sampled": sampled, "n": n, "wrong": n}
                    rows.append(row | {"timeout": sampled - n})
    return pd.DataFrame(rows)[list(SCORES)]


def test_by_how_much_pass_at_n_is_too_low_at_most():
    q = 15 / 16  # the most of q^15 - q^16; in one of 2 x 2 runs of problems, in one of two benchmarks
    most = 100 * (q**15 - q**16) / 4 / 2
    lost = scores({("ict-10", 2, "word-1"): 1})
    assert ungraded(lost) == (
        "1 of 384 samples could not be graded (timeout, memory, error) and enter no value: `tiny/ict-10` 1. "
        "Of a problem with n < k graded samples pass@n stands for pass@k; it makes no average more than "
        f"{most:.2g} points too low."
    )
    assert f"than {2 * most:.2g} points" in ungraded(lost, ["word"])
    assert "stands for" not in ungraded(lost, ["aime"])  # the benchmark is outside of the average
    assert ungraded(scores({})) == ""


@pytest.mark.parametrize(("sampled", "stands_in"), [(20, False), (17, False), (16, True)])
def test_a_sample_beyond_the_largest_k_is_not_missed(sampled, stands_in):
    assert ("stands for pass@k" in ungraded(scores({("ict-10", 2, "word-1"): 1}, sampled))) == stands_in


def test_many_arms_are_counted():
    many = [scores({("ict-10", 1, "word-0"): 1}).assign(model=f"m{i}") for i in range(8)]
    assert "`m5/ict-10` 1 and 2 other arms." in ungraded(pd.concat(many))


def test_the_note_of_a_study_counts_the_cells_at_the_shared_rate_apart():
    def note(**frames):
        settings = SimpleNamespace(note="Small.", scope="", unequal_seeds="")
        study = {"frame": frames.get, "averaged": None, "settings": settings}
        return Stored.note.func(SimpleNamespace(**study, outside="", mixed=""))

    whole, lost = scores({}, 20), scores({("ict-10", 2, "word-1"): 3}, 20)
    text = ungraded(lost)
    assert text.startswith("3 of 480")
    assert note(scores=whole, shared_rate_scores=lost) == f"Small. At the shared rate: {text}"
    assert note(scores=lost, shared_rate_scores=whole[:0]) == f"Small. {text}"
