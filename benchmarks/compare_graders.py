r"""Grade the same synthetic answers with this grader and with lm-evaluation-harness; count what each calls correct.

    python benchmarks/compare_graders.py --mirror ../shared/benchmarks/mirror
    python benchmarks/compare_graders.py --quick

It needs an environment with this package, math-verify and ``lm_eval`` (``docs/grading.md`` reports 0.4.13), and the
real rows. Without ``lm_eval`` or the rows it says so and ends. Each gold answer is written in the variants of this
script. The table counts how often each side calls a variant correct. Only counts are printed, never a row. ``--quick``
needs neither: it has two made-up gold answers of each type, and a grader that compares texts instead of the harness.
"""

import contextlib
import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import report

from ict_core.grading.boxes import last_box
from ict_core.grading.pool import GradingPool

Theirs = Callable[[str, str], bool]
MIRROR = Path(__file__).resolve().parents[2] / "shared/benchmarks/mirror"
MADE_UP = {"number": ["42", "1042"], "latex": [r"\frac{1}{2}", "x^2+1"], "integer": ["7", "42"], "choice": ["A", "B"]}

# variant -> (template of the text, whether its answer is the gold answer)
NUMBER = {
    "#### N": ("so\n#### {gold}", True),
    "box": (r"so \boxed{{{gold}}}", True),
    "sentence": ("So they have {gold} eggs.", True),
    "$N after ####": ("#### ${gold}", True),
    "unit after ####": ("#### {gold} eggs", True),
    "thousands separator": ("#### {grouped}", True),
    "LaTeX thousands separator": (r"\boxed{{{latexed}}}", True),
    "decimals, ####": ("#### {gold}.00", True),
    "decimals, box": (r"\boxed{{{gold}.00}}", True),
    "full stop, ####": ("#### {gold}.", True),
    "percent": ("{gold}%", True),
    "result of a difference": ("{more}-{gold}", True),
    "fraction in a box": (r"\boxed{{\frac{{{twice}}}{{2}}}}", True),
    "other number, then ####": ("#### {more}\nNo:\n#### {gold}", True),
    "####, then a remark with a number": ("#### {gold}\nThis took 7 steps.", True),
    "box, then a remark with a number": (r"\boxed{{{gold}}} in 7 steps.", True),
    "off by one": ("#### {more}", False),
    "other sign": ("#### {negative}", False),
    "as a denominator": ("It is 1/{gold}.", False),
}
LATEX = {
    "box": (r"so \boxed{{{gold}}}", True),
    "box in dollars": (r"so $\boxed{{{gold}}}$.", True),
    "dollars, no box": ("so ${gold}$", True),
    "minerva's sentence": ("Final Answer: The final answer is ${gold}$. I hope it is correct.", True),
    "dfrac": (r"$\boxed{{{dfrac}}}$", True),
    "more spaces": (r"$\boxed{{ {spaced} }}$", True),
    "unit after it": (r"$\boxed{{{gold}\text{{ cm}}}}$", True),
    "x = before it": (r"$\boxed{{x = {gold}}}$", True),
    "two boxes": (r"$\boxed{{-17}}$, no, $\boxed{{{gold}}}$", True),
    "last box not closed": (r"$\boxed{{{gold}}}$, that is $\boxed{{", True),
    "other sign": (r"$\boxed{{-({gold})}}$", False),
    "one more": (r"$\boxed{{{gold}+1}}$", False),
}
INTEGER = {
    "box": (r"so \boxed{{{gold}}}", True),
    "padded": (r"\boxed{{{padded}}}", True),
    "text": (r"\boxed{{\text{{{gold}}}}}", True),
    "bold in parentheses": (r"\boxed{{\textbf{{({gold})}}}}", True),
    "full stop": (r"\boxed{{{gold}.}}", True),
    "m+n =": (r"\boxed{{m+n={gold}}}", True),
    "sum": (r"\boxed{{{more}-1}}", True),
    "bare": ("{gold}", True),
    "answer is": ("The answer is {gold}.", True),
    "dollars": ("so ${gold}$", True),
    "off by one": (r"\boxed{{{more}}}", False),
    "other sign": (r"\boxed{{-{gold}}}", False),
}
CHOICE = {
    "box": (r"so \boxed{{{gold}}}", True),
    "boxed text": (r"so \boxed{{\text{{({gold})}}}}", True),
    "bare": ("{gold}", True),
    "full stop": ("{gold}.", True),
    "parentheses": ("({gold})", True),
    "the answer is (X).": ("The answer is ({gold}).", True),
    "the answer is X.": ("The answer is {gold}.", True),
    "Answer: X": ("Some thoughts.\nAnswer: {gold}", True),
    "letter and option": ("{gold}. Paris", True),
    "mention at the end": ("The answer is ({gold}), since ({other}) is too small.", True),
    "another letter": ("The answer is ({other}).", False),
    "mention only": ("({gold}) is too small.", False),
}


def _spellings(gold: str, kind: str) -> dict[str, str]:
    """The values of the templates' fields for one gold answer."""
    fields = {"gold": gold, "spaced": gold.replace(" ", "  "), "dfrac": gold.replace(r"\frac", r"\dfrac")}
    if kind in ("number", "integer"):
        value = int(gold)
        fields |= {"grouped": f"{value:,}", "latexed": f"{value:,}".replace(",", "{,}"), "padded": f"{value:03d}"}
        fields |= {"more": str(value + 1), "twice": str(2 * value), "negative": str(-value)}
    if kind == "choice":
        fields["other"] = "BCDA"["ABCD".index(gold)]
    return fields


def _exact(**options: object) -> Theirs:
    from lm_eval.api.metrics import exact_match_hf_evaluate

    def same(prediction: str, reference: str) -> bool:
        return bool(exact_match_hf_evaluate(predictions=[prediction], references=[reference], **options)["exact_match"])

    return same


def _gsm8k(pattern: str, group: int) -> Theirs:
    from lm_eval.filters.extraction import RegexFilter

    same = _exact(ignore_case=True, regexes_to_ignore=[",", r"\$", r"(?s).*#### ", r"\.$"])
    extract = RegexFilter(pattern, group_select=group)
    return lambda text, gold: same(extract.apply([[text]], [{}])[0][0], f"#### {gold}")


def _gpqa_flexible(text: str, gold: str) -> bool:
    from lm_eval.filters.extraction import MultiChoiceRegexFilter

    found = MultiChoiceRegexFilter(r"(\([A-Z]\))", group_select=-1, ignore_case=True, ignore_punctuation=True).apply(
        [[text]], [{"choices": ["one", "two", "three", "four"]}]
    )[0][0]
    return _exact(ignore_case=True, ignore_punctuation=True)(found, f"({gold})")


def _first_line(text: str, gold: str) -> bool:
    return _exact(ignore_case=True, ignore_punctuation=True)(text.partition("\n")[0].strip(), gold)


def _answer_is(text: str, gold: str) -> bool:
    from lm_eval.filters.extraction import RegexFilter

    found = RegexFilter(r"(?<=The answer is )(.*)(?=.)").apply([[text]], [{}])[0][0]
    return _exact(ignore_case=True, ignore_punctuation=True)(found, f"({gold})")


def _content(text: str) -> str:
    """The answer that this grader reads from a text, so that graders differ only in how they compare answers."""
    box = last_box(text)
    return box.answer if box else text


def _graders() -> dict[str, dict[str, Theirs]]:
    """The graders of lm-evaluation-harness by answer type, as its tasks call them."""
    from lm_eval.tasks.aime import utils as aime
    from lm_eval.tasks.hendrycks_math import utils as hendrycks
    from lm_eval.tasks.minerva_math import utils as minerva

    def boxed(gold: str) -> dict[str, str]:
        return {"solution": f"$\\boxed{{{gold}}}$", "answer": minerva.normalize_final_answer(gold)}

    def minerva_of_the_box(text: str, gold: str) -> bool:
        answer, expected = (minerva.normalize_final_answer(side) for side in (_content(text), gold))
        return bool(minerva.is_equiv(answer, expected))

    return {
        "number": {
            "gsm8k strict": _gsm8k(r"#### (\-?[0-9\.\,]+)", 0),
            "gsm8k flexible": _gsm8k(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1),
        },
        "latex": {
            "hendrycks": lambda text, gold: bool(hendrycks.process_results(boxed(gold), [text])["exact_match"]),
            "minerva": lambda text, gold: bool(minerva.process_results(boxed(gold), [text])["exact_match"]),
            "hendrycks, box": lambda text, gold: bool(hendrycks.is_equiv(_content(text), gold)),
            "minerva, box": minerva_of_the_box,
            "math_verify": lambda text, gold: bool(minerva.process_results(boxed(gold), [text])["math_verify"]),
        },
        "integer": {"aime": lambda text, gold: bool(aime.process_results({"answer": gold}, [text])["exact_match"])},
        "choice": {"gpqa strict": _answer_is, "gpqa flexible": _gpqa_flexible, "mmlu first line": _first_line},
    }


def _golds(mirror: Path, most: int) -> dict[str, list[str]]:
    """At most `most` distinct gold answers of each type, from the evaluation sets."""

    def rows(path: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (mirror / path).read_text(encoding="utf-8").splitlines()]

    aime = [row for year in ("23", "24", "25") for row in rows(f"math-ai/aime{year}/default/test.jsonl")]
    gsm8k = rows("openai/gsm8k/main/test.jsonl")
    golds = {
        "number": [row["answer"].rpartition("####")[2].strip().replace(",", "") for row in gsm8k],
        "latex": [row["answer"] for row in rows("HuggingFaceH4/MATH-500/default/test.jsonl")],
        "integer": [row["answer"] for row in aime],
        "choice": list("ABCD"),
    }
    return {kind: list(dict.fromkeys(found))[:most] for kind, found in golds.items()}


def compare(golds: dict[str, list[str]], all_graders: dict[str, dict[str, Theirs]]) -> pd.DataFrame:
    """One row per (type, variant, grader): answers, and how many this grader, the other and both call correct."""
    variants = {"number": NUMBER, "latex": LATEX, "integer": INTEGER, "choice": CHOICE}
    table = []
    with GradingPool(workers=1, seconds=5, memory_mib=1024) as pool:
        for kind, graders in all_graders.items():
            for variant, (template, right) in variants[kind].items():
                pairs = [(template.format(**_spellings(gold, kind)), gold) for gold in golds[kind]]
                here = [verdict.status == "correct" for verdict in pool.grade([(*pair, kind) for pair in pairs])]
                for grader, grade in graders.items():
                    with contextlib.redirect_stdout(io.StringIO()):
                        peer = [grade(text, gold) for text, gold in pairs]
                    both = sum(a and b for a, b in zip(here, peer, strict=True))
                    expected = len(pairs) if right else 0
                    table.append((kind, variant, grader, len(pairs), expected, sum(here), sum(peer), both))
    return pd.DataFrame(table, columns=["type", "variant", "grader", "answers", "expected", "ours", "theirs", "both"])


def show(table: pd.DataFrame) -> None:
    """Print the rows, and how many of them differ."""
    report.show([dict(zip(table.columns, row, strict=True)) for row in table.astype(str).itertuples(index=False)])
    differing = table[(table["ours"] != table["both"]) | (table["theirs"] != table["both"])]
    print(f"{len(differing)} of {len(table)} (variant, grader) pairs differ")


def main() -> None:
    """Print how often each side calls a variant correct, and on how many they differ."""
    parser = report.parser(__doc__)
    parser.add_argument("--mirror", type=Path, default=MIRROR)
    parser.add_argument("--most", type=int, default=10_000, help="gold answers of each type")
    options = report.parse(parser)
    if options.quick:
        show(compare(MADE_UP, dict.fromkeys(MADE_UP, {"same text": lambda text, gold: _content(text) == gold})))
        return
    if importlib.util.find_spec("lm_eval") is None:
        print("skipped: lm_eval is not importable here; `pip install lm_eval` into an environment of its own")
        return
    if not options.mirror.exists():
        print(f"skipped: the real rows are not at {options.mirror}")
        return
    show(compare(_golds(options.mirror, options.most), _graders()))


if __name__ == "__main__":
    main()
