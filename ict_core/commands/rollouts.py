"""The subcommands that sample from any checkpoint: every rule scored, and a page that shows every token."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ict_core.commands.app import command
from ict_core.commands.options import CELL, MaybeStudyFile
from ict_core.commands.stages import prepare
from ict_core.errors import UserError
from ict_core.store import METHODS

if TYPE_CHECKING:
    import pandas as pd

_GRADING = {"seconds": 5.0, "memory_mib": 1024}  # what one answer may cost
Count = Annotated[int, typer.Option(help="prompts, drawn at random")]


@dataclass(frozen=True)
class Draw:
    """Some problems of a file."""

    benchmark: Annotated[str | None, typer.Option(help="draw from this benchmark's problems only")] = None
    count: Count = 4
    seed: Annotated[int, typer.Option(help="of prompts, rollouts and draws")] = 0

    def of(self, problems: Path) -> "pd.DataFrame":
        """The problems drawn from a file of them."""
        from ict_core.tools.inspection import chosen_problems

        return chosen_problems(problems, self.benchmark, self.count, self.seed)


@dataclass(frozen=True)
class LargeDraw(Draw):
    """As :class:`Draw`, of more problems."""

    count: Count = 16


@dataclass(frozen=True)
class Rollouts:
    """How they are sampled: fields of :class:`ict_core.shadow._checkpoint.GroupSampling`."""

    group_size: Annotated[int, typer.Option(help="rollouts a prompt")] = 8
    temperature: Annotated[float, typer.Option(help="of the rollouts")] = 1.0
    max_new_tokens: Annotated[int, typer.Option(help="of a rollout")] = 112
    known_forks: Annotated[
        bool, typer.Option("--known-forks", help="the problems are the mini world's: mark its forks")
    ] = False
    threads: Annotated[int, typer.Option(help="of the CPU")] = 1

    def check(self) -> None:
        """An error if one is out of its range."""
        for option, value, least in (("group-size", self.group_size, 2), ("max-new-tokens", self.max_new_tokens, 1)):
            if value < least:
                raise UserError(f"--{option}: {value} is not allowed; allowed: at least {least}")
        if self.temperature <= 0:
            raise UserError(f"--temperature: {self.temperature} is not allowed; allowed: more than 0")


@command("shadow", portable=True)
def shadow(
    checkpoint: Annotated[Path, typer.Argument(help="a Hugging Face checkpoint folder")],
    problems: Annotated[Path, typer.Option(help="train or eval.parquet of results/STUDY/data")],
    out: Annotated[Path, typer.Option(help="receives tokens, shadow, overlap, gradients.parquet")],
    draw: LargeDraw,
    rollouts: Rollouts,
    model: Annotated[
        Path | None, typer.Option(help="configs/models/<model>.yaml, whose template the prompts stand in")
    ] = None,
    methods: Annotated[Path, typer.Option(show_default="the repository's configs/methods")] = METHODS,
) -> None:
    """Score every rule side by side on fresh rollouts of a checkpoint, without training."""
    prepare()
    from ict_core.config import load_methods, load_model
    from ict_core.problems import templated
    from ict_core.selection import distinct_rules
    from ict_core.shadow import GroupSampling, sample_groups, score_groups, side_by_side
    from ict_core.store import records

    rollouts.check()
    rules = distinct_rules(load_methods(methods))
    template = load_model(model).prompt if model else None
    asked = draw.of(problems)
    asked = asked.assign(prompt=templated(template, asked["prompt"]))
    sampling = GroupSampling(**asdict(rollouts), seed=draw.seed)
    groups = sample_groups(checkpoint, asked, sampling, _GRADING)
    scored = score_groups(groups, rules, draw.seed, rollouts.temperature)
    for name in ("tokens", "shadow", "overlap", "gradients"):
        records.write_frame(getattr(scored, name), out / f"{name}.parquet", getattr(records, name.upper()))
    right = groups.rewards.nanmean().item()
    print(f"{len(scored.tokens)} tokens of {len(groups.rewards)} rollouts, of which {right:.0%} are right")
    print(side_by_side(scored))


@command("tokens", portable=True)
def tokens(
    cell: Annotated[Path, typer.Argument(help=CELL)],
    draw: Draw,
    study: MaybeStudyFile = None,
    problems: Annotated[
        Path | None, typer.Option(help="a file of problems (default: the study's data/eval.parquet)")
    ] = None,
    method: Annotated[
        list[Path] | None,
        typer.Option(
            help="configs/methods/<variant>.yaml: mark what this rule keeps as well; may be given several times"
        ),
    ] = None,
    alternatives: Annotated[int, typer.Option(help="likeliest tokens at each position")] = 5,
    out: Annotated[Path | None, typer.Option(help="the page (default: CELL/tokens.html)")] = None,
) -> None:
    """Sample from a cell's model and write a page that shows every token: scores, kept tokens, known forks."""
    from ict_core.tools.inspection import inspected

    model = inspected(cell, study)
    prepare()
    from ict_core.store import CellFiles, StudyFiles, write_text
    from ict_core.tools.inspection import tokens_page, with_rules

    rules = with_rules(model, method or [])
    asked = draw.of(problems or StudyFiles(model.study).eval_problems)
    page = out or CellFiles(cell).token_page
    write_text(page, tokens_page(model, rules, asked, draw.seed, alternatives))
    print(page)
