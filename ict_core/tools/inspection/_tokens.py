"""The page about a cell's tokens: rollouts of its model, and what selection rules keep of them."""

from pathlib import Path

import pandas as pd
from torch import Tensor

from ict_core.config import Method, method_schema, read_section
from ict_core.config.mistakes import Mistakes, closest
from ict_core.errors import UserError
from ict_core.problems import templated
from ict_core.seeding import derive_seed, generator
from ict_core.selection import Rule, TokenBatch
from ict_core.shadow import Groups, GroupSampling, sample_groups
from ict_core.store import records
from ict_core.tools.inspection._cell import Inspected
from ict_core.tools.inspection._page import page, page_data

_MOST_ALTERNATIVES = 20


def chosen_problems(path: Path, benchmark: str | None, count: int, seed: int) -> pd.DataFrame:
    """``count`` problems of a file of ``records.PROBLEMS``, drawn at random, in the file's order.

    Raises:
        UserError: the file has no such benchmark, or not so many problems.
    """
    problems = records.read_frame(path, records.PROBLEMS)
    if benchmark is not None:
        known = problems["benchmark"].unique()
        if benchmark not in known:
            raise UserError(f"--benchmark {benchmark}: not in {path}; {closest(benchmark, known)}")
        problems = problems[problems["benchmark"] == benchmark]
    if not 1 <= count <= len(problems):
        raise UserError(f"--count {count} is not allowed; allowed: 1 to {len(problems)}, the problems of {path}")
    drawn = generator(seed, "inspected problems").choice(len(problems), count, replace=False)
    return problems.iloc[sorted(drawn)]


def with_rules(cell: Inspected, files: list[Path]) -> dict[str, Method]:
    """The cell's own rule, and those of some ``configs/methods/<variant>.yaml`` files by their names.

    Raises:
        UserError: a file is no method, or two rules have one name.
    """
    rules, mistakes = dict(cell.rules), Mistakes()
    for file in files:
        if file.stem in rules:
            raise UserError(f"--method {file}: a rule named {file.stem} is marked already; leave it out or rename it")
        rules[file.stem] = read_section(file, method_schema(), mistakes)
    mistakes.raise_if_any()
    return rules


def kept_tokens(groups: Groups, rules: dict[str, Method], seed: int) -> dict[str, Tensor]:
    """What each rule keeps where these groups are the whole optimisation batch, (B, T) bool by the rule's name."""
    batch = TokenBatch(groups.statistics, groups.advantages, groups.completion_mask)
    drawn = derive_seed(seed, "inspected rule")
    return {name: Rule(name, m.selector, m.parameters()).kept(batch, drawn) for name, m in rules.items()}


def tokens_page(cell: Inspected, rules: dict[str, Method], problems: pd.DataFrame, seed: int, alternatives: int) -> str:
    """The page, as HTML.

    Args:
        problems: ``records.PROBLEMS``, without the model's template.
        alternatives: how many of the likeliest tokens are shown at each position.

    Raises:
        UserError: too many alternatives; or see :func:`ict_core.shadow._checkpoint.sample_groups`.
    """
    if not 0 <= alternatives <= _MOST_ALTERNATIVES:
        raise UserError(f"--alternatives {alternatives} is not allowed; allowed: 0 to {_MOST_ALTERNATIVES}")
    training = cell.training
    sampling = GroupSampling(
        group_size=training.group_size,
        temperature=training.temperature,
        max_new_tokens=training.max_new_tokens,
        seed=seed,
        known_forks=cell.known_forks,
        alternatives=alternatives,
        threads=training.threads,
    )
    asked = problems.assign(prompt=templated(cell.template, problems["prompt"]))
    groups = sample_groups(cell.checkpoint, asked, sampling, cell.grading)
    size = training.group_size
    facts = [
        f"{size} rollouts of each of {len(problems)} prompts, sampled at temperature {training.temperature:g} with at "
        f"most {training.max_new_tokens} new tokens (seed {seed}); logarithms are natural. A is the advantage in the "
        f"group, u the JS score at the position, β = Σp²; a rank of 1 is the highest. "
        f"A rule that compares tokens over a batch has these {len(problems) * size} rollouts for its batch."
    ]
    if any(method.random_reward for method in cell.rules.values()):
        facts.append("This model was trained by random rewards; those shown here are the verifier's.")
    return page(page_data(groups, kept_tokens(groups, rules, seed), cell.name, facts))
