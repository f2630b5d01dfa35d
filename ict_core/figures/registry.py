"""What a figure's module declares, and every figure by its name. Only drawing imports its module, and matplotlib."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ict_core.evidence.declarations import Shown, read_declarations


@dataclass(frozen=True, kw_only=True)
class FigureDeclaration(Shown):
    """A figure, whose module has the function ``draw(*frames, variants=..., **settings)``.

    The frames are those of `inputs`, from `evidence.Stored`; none is changed. `variants` are those to show, in the
    legend's order or from top to bottom; those without rows, such as base in a log, are left out. A study that
    has nothing to draw gets `figures.sentence`; a UserError says that none of the variants has rows, or that a frame
    lacks the average.
    """

    caption: str  # what is drawn, and what its bands and intervals speak for
    settings: tuple[Literal["margin", "arms", "variants", "baselines", "kept"], ...] = ()  # of the study, that it draws
    needs: str = ""  # the key of a study's file without which there is no such figure


if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ict_core.evidence.stored import Stored

FIGURES = read_declarations(Path(__file__).parent, "FIGURE", FigureDeclaration)  # by the module here that draws it
_OF_SCORES = {"runs", "levels", "contrasts"}


def figures_of(settings: Mapping[str, Any]) -> dict[str, FigureDeclaration]:
    """The figures that a study has, by what it states."""
    return {name: shown for name, shown in FIGURES.items() if not shown.needs or settings.get(shown.needs)}


def reads(name: str) -> list[str]:
    """The frames that a figure reads, its note included."""
    inputs = FIGURES[name].inputs
    of_the_note = {"scores": bool(_OF_SCORES & set(inputs)), "validity": "contrasts" in inputs}
    return [*inputs, *(frame for frame, read in of_the_note.items() if read)]


def sentence_of(figure: Path) -> str | None:
    """Why nothing is drawn in a PNG that `figures.write` made, as `panels.sentence` says; None of one with data."""
    from PIL import Image

    with Image.open(figure) as image:
        return image.info.get("Description")


def draw(name: str, study: "Stored") -> "Figure":
    """The figure of that name from a study's stored frames, of the line figures' variants or those of its settings.

    A UserError where a frame is missing or broken, and as :class:`FigureDeclaration` says.
    """
    declared = FIGURES[name]
    settings: dict[str, Any] = {"variants": study.settings.shared}
    settings |= {setting: getattr(study.settings, setting) for setting in declared.settings}
    return drawn(name, study, declared.inputs, **settings)


def drawn(module: str, study: "Stored", frames: Sequence[str], **settings: Any) -> "Figure":
    """What a module draws of a study's frames of these names."""
    from matplotlib import rc_context  # here, as titles and inputs are read at every start

    from ict_core.figures.panels import RC

    with rc_context(RC):
        return import_module(f"ict_core.figures.{module}").draw(*map(study.frame, frames), **settings)


def note(name: str, study: "Stored") -> str:
    """What stands at the foot of a figure: the study's note, samples without a grade, verdicts that do not count."""
    from ict_core.evidence.gates import without_verdicts  # as above
    from ict_core.statistics.metrics import ungraded

    frames = reads(name)
    told = ungraded(study.frame("scores")).replace("`", "") if "scores" in frames else ""
    gates = without_verdicts(study.frame("validity")) if "validity" in frames else ""
    return " ".join(filter(None, [study.settings.note, told, gates]))
