"""The subcommands that show a model's rollouts: new ones token by token, and those that its training kept."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ict_core.errors import UserError
from ict_core.jobs.command import CELL, GRADING, MODEL_GROUP, STUDY_GROUP, MaybeStudyFile, above_0, command, prepare
from ict_core.store.files import write_text
from ict_core.store.layout import METHODS, CellFiles, StudyFiles

Count = Annotated[int, Option(help="prompts, drawn at random")]


@dataclass(frozen=True)
class ProblemDraw:
    """Some problems of a file: keywords of :func:`ict_core.tools.inspection.page.chosen_problems`."""

    benchmark: Annotated[str | None, Option(help="draw from this benchmark's problems only")] = None
    count: Count = 4
    seed: Annotated[int, Option(help="of prompts, rollouts and draws")] = 0


@dataclass(frozen=True)
class LargeDraw(ProblemDraw):
    """As :class:`ProblemDraw`, with more problems."""

    count: Count = 16


@dataclass(frozen=True)
class RolloutOptions:
    """How rollouts are sampled: fields of :class:`ict_core.shadow.checkpoint.GroupSampling`."""

    group_size: Annotated[int, Option(min=2, help="rollouts a prompt")] = 8
    temperature: Annotated[float, Option(callback=above_0, help="of the rollouts")] = 1.0
    max_new_tokens: Annotated[int, Option(min=1, help="of a rollout")] = 112
    known_forks: Annotated[bool, Option("--known-forks", help="the problems are the mini world's: mark its forks")] = (
        False
    )
    threads: Annotated[int, Option(min=1, help="of the CPU")] = 1


@command("shadow", MODEL_GROUP, portable=True)
def shadow(
    checkpoint: Annotated[Path, Argument(help="a Hugging Face checkpoint folder")],
    problems: Annotated[Path, Option(help="train or eval.parquet of results/STUDY/data")],
    out: Annotated[Path, Option(help="receives tokens, shadow, overlap, gradients.parquet")],
    draw: LargeDraw,
    rollouts: RolloutOptions,
    model: Annotated[
        Path | None, Option(help="configs/models/<model>.yaml, whose template the prompts stand in")
    ] = None,
    methods: Annotated[
        Path, Option(help="a folder of variants, whose controls are left out", show_default="configs/methods")
    ] = METHODS,
) -> None:
    """Score every rule side by side on fresh rollouts of a checkpoint, without training."""
    prepare()
    from ict_core.config.load import load_model
    from ict_core.config.method_files import load_methods
    from ict_core.problems.mini.problems import problem_of
    from ict_core.problems.templates import templated
    from ict_core.selection.base import distinct_rules
    from ict_core.shadow.checkpoint import GroupSampling, sample_groups, score_groups, side_by_side
    from ict_core.store import records
    from ict_core.tools.inspection.page import chosen_problems

    candidates = {name: method for name, method in load_methods(methods).items() if method.control is None}
    left_out = [name for name, method in candidates.items() if method.known_steps and not rollouts.known_forks]
    rules = distinct_rules({name: method for name, method in candidates.items() if name not in left_out})
    if not rules:
        why = f", as {', '.join(left_out)} need --known-forks" if left_out else ""
        raise UserError(
            f"--methods {methods}: no rule is left{why}; allowed: a folder with a variant that is no control"
        )
    template = load_model(model).prompt if model else None
    chosen = chosen_problems(problems, **asdict(draw))
    if rollouts.known_forks:
        try:
            list(map(problem_of, chosen["prompt"]))
        except ValueError as error:
            raise UserError(f"--known-forks: {problems}: {error}; allowed: problems of the mini world alone") from None
    chosen = chosen.assign(prompt=templated(template, chosen["prompt"]))
    sampling = GroupSampling(**asdict(rollouts), seed=draw.seed)
    groups = sample_groups(checkpoint, chosen, sampling, GRADING)
    scored = score_groups(groups, rules, draw.seed, rollouts.temperature)
    for name, frame in scored.items():
        records.write_frame(frame, out / f"{name}.parquet", getattr(records, name.upper()))
    right = groups.rewards.nanmean().item()
    print(f"{len(scored['tokens'])} tokens of {len(groups.rewards)} rollouts, of which {right:.0%} are right")
    print(side_by_side(scored))
    if left_out:
        print(f"left out: {', '.join(left_out)}; with --known-forks alone, for problems whose steps are known")


@command("tokens", MODEL_GROUP, portable=True)
def tokens(
    cell: Annotated[Path, Argument(help=CELL)],
    draw: ProblemDraw,
    study: MaybeStudyFile = None,
    problems: Annotated[Path | None, Option(help="a file of problems (default: the study's data/eval.parquet)")] = None,
    method: Annotated[
        list[Path] | None,
        Option(help="configs/methods/<variant>.yaml: mark what this rule keeps as well; may be given several times"),
    ] = None,
    alternatives: Annotated[int, Option(help="likeliest tokens at each position")] = 5,
    out: Annotated[Path | None, Option(help="the page (default: CELL/tokens.html)")] = None,
) -> None:
    """Sample from a cell's model and write a page that shows every token: scores, kept tokens, known forks."""
    from ict_core.problems.mini.problems import problem_of
    from ict_core.tools.inspection.cell import inspected

    model = inspected(cell, study)
    prepare()
    from ict_core.tools.inspection.page import chosen_problems, tokens_page, with_rules

    rules = with_rules(model, method or [])
    chosen = chosen_problems(problems or StudyFiles(model.study).eval_problems, **asdict(draw))
    try:
        list(map(problem_of, chosen["prompt"]))
    except ValueError:  # not the mini world's, so their forks are not known
        model = replace(model, known_forks=False)
    page = out or CellFiles(cell).token_page
    write_text(page, tokens_page(model, rules, chosen, draw.seed, alternatives))
    print(page)


@command("browse", STUDY_GROUP, portable=True)
def browse(
    cells: Annotated[
        list[Path], Argument(metavar="CELL...", help="results/STUDY/MODEL/VARIANT/seed-N, one or several")
    ],
    most: Annotated[int, Option(min=1, help="rollouts on a page, of steps that lie evenly apart")] = 4000,
) -> None:
    """Write a page of each cell's kept training rollouts, CELL/rollouts.html: by step, problem and reward."""
    prepare()
    from ict_core.tools.inspection.rollouts import rollouts_page

    for cell in cells:
        page = CellFiles(cell).rollouts_page
        write_text(page, rollouts_page(cell, most))
        print(page)
