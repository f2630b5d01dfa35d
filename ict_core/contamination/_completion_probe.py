"""Does the base model know the questions? The partial-prompt completion probe of Wu et al. 2025 (arXiv:2507.10532).

The model gets the first 40, 60 or 80 % of a question and decodes greedily; a model that never saw the question will
hardly continue it word for word. For scale: with the first 60 % of each MATH-500 question, Wu et al. report that
Qwen2.5-Math-7B gave the rest exactly in 54.60 % of the cases, and Llama3.1-8B in 3.8 %. Details are this project's and
may differ from theirs: the prompt is the question alone (no instruction, options or chat template), cut behind a word,
number or sign; the completion is compared up to the length of the rest, case and signs included, whitespace not.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd

from ict_core.config import PublishedSet, Study
from ict_core.errors import UserError
from ict_core.evaluation import Engine, Request, Sampling
from ict_core.problems.mini import TEMPLATE
from ict_core.store import records

PERCENTS = (40, 60, 80)  # of a question, given to the model
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])")  # a word, number or sign with the whitespace before it


def templates(study: Study) -> dict[str, str]:
    """The prompt template of every benchmark of a study, by its name."""
    sets = study.benchmarks.values()
    return {one.name: one.prompt.template if isinstance(one, PublishedSet) else TEMPLATE for one in sets}


def split(question: str, percent: int) -> tuple[str, str] | None:
    """The first `percent` of a question's words and signs, rounded down, and the rest; None if there is only one.

    At least one is given and at least one is left.
    """
    pieces = _PIECE.findall(question)
    if len(pieces) < 2:
        return None
    given = min(max(1, len(pieces) * percent // 100), len(pieces) - 1)
    return "".join(pieces[:given]), "".join(pieces[given:])


def _words(text: str) -> list[str]:
    """The words, numbers and signs of a text, as they are written."""
    return [piece.strip() for piece in _PIECE.findall(text)]


def common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """The length of the longest common subsequence (Hyyrö 2004: one column of the table is the bits of one integer)."""
    places: dict[str, int] = defaultdict(int)
    for place, word in enumerate(left):
        places[word] |= 1 << place
    full = (1 << len(left)) - 1
    column = full
    for word in right:
        matches = column & places.get(word, 0)
        column = ((column + matches) | (column - matches)) & full
    return len(left) - column.bit_count()


def rouge_l(completed: Sequence[str], wanted: Sequence[str]) -> float:
    """ROUGE-L of Lin 2004: the harmonic mean of the common subsequence's shares of both texts, 0 to 1."""
    if not completed and not wanted:
        return 1.0
    return 2 * common_subsequence(completed, wanted) / (len(completed) + len(wanted))


def completion_probe(
    engine: Engine,
    problems: pd.DataFrame,
    template: Mapping[str, str],
    stop_token_ids: tuple[int, ...],
    max_new_tokens: int,
) -> pd.DataFrame:
    """Ask a base model for the rest of every question of a frame of ``records.PROBLEMS``.

    The words of a benchmark's template before the question are given too; no more than `max_new_tokens` are decoded.

    Returns:
        A frame of ``records.COMPLETION_PROBE``, one row a problem and percentage; questions of a single word have none.
        `exact`: the completion begins with the rest. `rouge_l`: of as many words and signs as the rest has.

    Raises:
        UserError: a benchmark has no template, or a prompt not made from it: the frame is older than the configuration.
    """
    rows, requests, rests = [], [], []
    columns = (problems[name] for name in ("benchmark", "problem", "question", "prompt"))
    for benchmark, problem, question, prompt in zip(*columns, strict=True):
        head = template.get(benchmark, "").partition("{question}")[0]
        if benchmark not in template or not prompt.startswith(head + question):
            raise UserError(
                f"the prompt of {benchmark} {problem} was not made from the template that the study's configuration "
                "gives this set; run `ict data` anew"
            )
        for percent in PERCENTS:
            parts = split(question, percent)
            if parts is not None:
                rows.append((benchmark, problem, percent))
                requests.append(Request(head + parts[0], seed=0))
                rests.append(parts[1])
    texts = _decode(engine, requests, rests, stop_token_ids, max_new_tokens)
    probed = []
    for row, text, rest in zip(rows, texts, rests, strict=True):
        wanted = _words(rest)
        completed = _words(text)[: len(wanted)]
        probed.append((*row, completed == wanted, rouge_l(completed, wanted)))
    return pd.DataFrame(probed, columns=list(records.COMPLETION_PROBE))


def _decode(
    engine: Engine, requests: Sequence[Request], rests: Sequence[str], stops: tuple[int, ...], most: int
) -> list[str]:
    """Greedy completions, none much longer than the rest that it is compared with: a token is a byte or more."""
    groups: dict[int, list[int]] = defaultdict(list)
    for index, rest in enumerate(rests):
        bound = 1 << (len(rest.encode()) - 1).bit_length()  # the next power of two, so that there are few groups
        groups[min(bound, most)].append(index)
    texts = [""] * len(requests)
    for bound, members in sorted(groups.items()):
        greedy = Sampling(0.0, 1.0, bound, stops)
        for index, completion in zip(members, engine.sample([requests[i] for i in members], greedy), strict=True):
            texts[index] = completion.text
    return texts
