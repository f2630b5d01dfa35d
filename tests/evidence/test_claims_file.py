"""The ledger's file: what stands in it, and what is refused."""

from pathlib import Path

import pytest

from ict_core.errors import UserError
from ict_core.evidence import DifferenceTest, Largest, declared_pairs, read_claims

LEDGER = Path(__file__).parents[2] / "configs" / "claims.yaml"
GOOD = """\
claims:
  - id: gain
    family: gains
    statement: A gain.
    source: somewhere
    test: {kind: difference, ours: ict-10, against: [grpo], metric: pass@4, direction: higher}
"""


def message(tmp_path: Path, text: str) -> str:
    file = tmp_path / "claims.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        read_claims(file)
    assert "claims.yaml" in str(caught.value)
    return str(caught.value)


def test_the_projects_ledger_holds_what_the_paper_claims_and_the_referee_asks():
    claims = {claim.id: claim for claim in read_claims(LEDGER)}
    headlines = [claims[f"headline-{part}"] for part in ("abstract", "contributions", "section-4-2")]
    assert [claim.paper_points for claim in headlines] == [4.58, 4.37, 3.88]
    assert len({claim.test for claim in headlines}) == 3  # three framings are three tests
    assert {t.against for c in claims.values() if isinstance(t := c.test, Largest)} == {
        ("grpo",),
        ("entropy-20",),
        ("stapo",),
    }
    compared = {
        t.against[0] for c in claims.values() if isinstance(t := c.test, DifferenceTest) and len(t.against) == 1
    }
    assert compared >= {
        "ict-5",
        "ict-20",
        "ict-30",
        "frequent-90",
        "random-10",
        "entropy-10",
        "kl-10",
        "wasserstein-10",
    }
    assert claims["pass4-gain-exceeds-pass1-gain"].test.minus_metric == "pass@1"
    assert claims["carry-over"].test.benchmarks == ("MMLU-STEM", "GPQA")


def test_declared_pairs_are_the_plain_differences_of_the_average():
    pairs = declared_pairs(read_claims(LEDGER))
    assert pairs["ict-10", "grpo", "pass@4"] == "baselines"  # the headline has it as a part of a mean
    assert pairs["ict-10", "random-10", "pass@4"] == "score"
    assert not any("base" in pair for pair in pairs)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("metric: pass@4", "metric: pass@3", ["claims[0].test.metric: 'pass@3'", "'pass@1', 'pass@4' or 'total'"]),
        ("against: [grpo]", "against: []", ["claims[0].test.against"]),
        ("against: [grpo]", "against: [grpo, stapo]", ["claims[0].test.combine: null"]),
        ("kind: difference", "kind: diffrence", ["claims[0].test.kind: 'diffrence'", "largest, measure"]),
        ("kind: difference, ", "", ["claims[0].test.kind", "missing", "difference, largest, measure"]),
        ("direction: higher", "direction: up", ["claims[0].test.direction", "'up'", "'higher', 'lower' or 'equal'"]),
        ("    statement: A gain.\n", "", ["claims[0].statement", "missing"]),
        ("    source", "    sauce: x\n    source", ["claims[0].sauce"]),
        ("    source", "    bound_with: loss\n    source", ["claims[0].bound_with: 'loss'", "one of gain"]),
        ("    test: {", "    # {", ["claims[0].needs: null"]),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path, old, new, words):
    assert GOOD.count(old) == 1
    text = message(tmp_path, GOOD.replace(old, new))
    assert [word for word in words if word not in text] == []


def test_an_id_stands_once(tmp_path):
    again = GOOD + GOOD.removeprefix("claims:\n")
    assert "claims[1].id: 'gain' is not allowed; allowed: each id once" in message(tmp_path, again)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("{kind: measure, quantity: elbwo, of: ict-10, direction: lower}", "test.quantity: 'elbwo'"),
        ("{kind: measure, quantity: elbow, of: ict-10}", "test.direction: null"),
        ("{kind: measure, quantity: elbow, of: ict-10, within: [0.2, 0.1]}", "test.within: [0.2, 0.1]"),
    ],
)
def test_a_measure_is_checked(tmp_path, test, words):
    lines = GOOD.splitlines()
    assert words in message(tmp_path, "\n".join([*lines[:-1], f"    test: {test}"]))
