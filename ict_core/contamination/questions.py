"""The questions of a study's problems, without the instruction that all prompts share."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from ict_core.config.published import PublishedSet
from ict_core.config.study import Study
from ict_core.errors import UserError
from ict_core.problems.mini.problems import TEMPLATE
from ict_core.problems.published.item import LETTERS
from ict_core.problems.published.prompts import unfilled

_GENERATED = "train"  # the set of generated training problems


class Asked(NamedTuple):
    """A problem as the audit sees it.

    Attributes:
        benchmark: the evaluation or training set.
        problem: its id there.
        question: the words in the place of the template's `{question}`.
        options: the four options, or none.
        answer: the gold answer; of a problem with options the right option's text.
    """

    benchmark: str
    problem: str
    question: str
    options: tuple[str, ...]
    answer: str


def templates(study: Study) -> dict[str, str]:
    """The prompt template of every evaluation and training set of a study, by its name."""
    sets = [*study.benchmarks.values(), *study.train_sets.values()]
    known = {one.name: one.prompt.template if isinstance(one, PublishedSet) else TEMPLATE for one in sets}
    return {_GENERATED: TEMPLATE, **known}


def asked(problems: pd.DataFrame, template: Mapping[str, str]) -> list[Asked]:
    """The problems of a frame of ``records.PROBLEMS``, in its order.

    Args:
        template: of each value of the column `benchmark`, as :func:`templates` gives them.

    Raises:
        UserError: a set has no template, or a prompt was not made from it: the frame is older than the configuration.
    """
    found = []
    columns = (problems[name] for name in ("benchmark", "problem", "prompt", "answer"))
    for benchmark, problem, prompt, answer in zip(*columns, strict=True):
        try:
            question, options = unfilled(template[benchmark], prompt)
        except (KeyError, ValueError):
            raise UserError(
                f"the prompt of {benchmark} {problem} was not made from the template that the study's configuration "
                "gives this set; run `ict data` anew"
            ) from None
        shown = options[LETTERS.index(answer)] if options else answer
        found.append(Asked(benchmark, problem, question, options, shown))
    return found
