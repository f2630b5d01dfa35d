"""Answers as hypothesis makes them up: like LaTeX, like numbers, in any script, deeply nested, or enormous."""

import resource

from hypothesis import strategies as st

from ict_core.grading.pool import GradingPool
from ict_core.store.records import STATUSES

GOLDS = {
    "latex": (r"\frac{1}{3}", r"2\sqrt{3}", "(1,2)", r"\{1,2,3\}", r"x^2+1", r"\text{east}", "[0,1)", r"\pi"),
    "integer": ("0", "42", "999", "051"),
    "number": ("42", "-3.5", "1234567", "0.1"),
    "choice": ("A", "B", "C", "D"),
}
GOLDS["math"] = GOLDS["latex"]
PARENT_MIB = 200  # that grading may add to the most this process had
_DIGITS = "0123456789٠١٢٣٤٥٦٧٨٩०१२०１２３²³½Ⅷ"
_NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.text(_DIGITS + ".,-+e^/ %$'_", min_size=1, max_size=12),
    st.builds(
        lambda d, n: d * n, st.sampled_from(["9", "1,", "0.", "-", "1e9", "9^", "9!"]), st.sampled_from([3, 50, 3000])
    ),
)
_MACROS = st.sampled_from(
    r"""\frac \dfrac \sqrt \text \mathrm \left( \right) \binom \sum_{i=1}^{9} \int \lim \begin{pmatrix} \end{pmatrix}
    \cdot \pi \infty \pm \cup \in \le \% \$ \\ \, \! \boxed \fbox \overline \log \sin \det
    ^ _ & { } ( ) [ ] | ! = < , ; # ~""".split()  # noqa: SIM905 - shorter than a list of so many strings
)
_ATOMS = st.one_of(_NUMBERS, _MACROS, st.sampled_from("xyzABCDei"), st.text(max_size=6))
_FORMULAS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=5).map(" ".join),
        st.tuples(inner, inner).map(lambda p: rf"\frac{{{p[0]}}}{{{p[1]}}}"),
        st.tuples(inner, inner).map(lambda p: f"{p[0]}^{{{p[1]}}}"),
        inner.map(lambda x: rf"\sqrt{{{x}}}"),
        inner.map(lambda x: rf"\left({x}\right)"),
        inner.map(lambda x: rf"\text{{{x}}}"),
        inner.map(lambda x: rf"\boxed{{{x}}}"),
        st.lists(inner, min_size=2, max_size=4).map(lambda x: rf"\begin{{pmatrix}}{'&'.join(x)}\end{{pmatrix}}"),
    ),
    max_leaves=12,
)
_NESTED = st.builds(
    lambda pair, depth, inner: pair[0] * depth + inner + pair[1] * depth,
    st.sampled_from(
        [("{", "}"), ("(", ")"), (r"\frac{1}{", "}"), (r"\sqrt{", "}"), (r"\text{", "}"), ("9^{", "}"), ("[", "")]
    ),
    st.sampled_from([2, 30, 400, 20_000]),
    _ATOMS,
)
_ENORMOUS = st.builds(
    lambda part, size: part * (size // max(1, len(part))), _ATOMS, st.sampled_from([1000, 99_000, 300_000])
)
ANSWERS = st.one_of(_FORMULAS, _NUMBERS, st.text(max_size=40), _NESTED, _ENORMOUS)
_AROUND = st.sampled_from(
    ["{}", r"so \boxed{{{}}}", r"\boxed{{{}}} \boxed{{", "#### {}", "The answer is {}.", "Answer: ({})", r"$\boxed {}$"]
)
ITEMS = st.sampled_from(sorted(GOLDS)).flatmap(
    lambda kind: st.tuples(
        st.builds(lambda around, answer: around.format(answer), _AROUND, ANSWERS),
        st.one_of(st.sampled_from(GOLDS[kind]), st.sampled_from(GOLDS[kind]), _FORMULAS.filter(str.strip)),
        st.just(kind),
    )
)
SPACES = st.text(" \t\n", max_size=5)


def grade_hostile(pool: GradingPool, item: tuple[str, str, str], before: str, after: str) -> str:
    """Hold what the pool says of a text against what must be true of every text; the status."""
    text, gold, kind = item
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verdict, spaced = pool.grade([item, (before + text + after, gold, kind)])
    assert verdict.status in STATUSES and len(verdict.extracted) <= 200
    settled = {verdict.status, spaced.status} <= {"correct", "wrong", "no_answer"}
    assert not settled or verdict.status == spaced.status, "whitespace around a text changed its status"
    if "\\boxed" not in gold and gold.count("{") == gold.count("}"):
        (itself,) = pool.grade([(rf"so \boxed{{{gold}}}", gold, kind)])
        assert gold not in GOLDS[kind] or itself.status == "correct", "the gold answer itself is not correct"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < PARENT_MIB * 1024
    return verdict.status
