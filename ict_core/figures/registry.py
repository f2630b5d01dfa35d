"""The declarations of the figures, by name. Only drawing imports their modules, and matplotlib."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ict_core.errors import Damaged, UserError
from ict_core.evidence.declarations import Shown, read_declarations


@dataclass(frozen=True, kw_only=True)
class FigureDeclaration(Shown):
    """The declaration of a figure, whose module has the function ``draw(*frames, variants=..., **settings)``.

    The frames are those named in `inputs`, from `evidence.stored.Stored`; none is changed. `variants` are shown in the
    order given, in the legend or from top to bottom; variants without rows, such as base in a log, are left out. A
    study with nothing to draw gets `panels.sentence`. A UserError says that none of the variants has rows.
    """

    caption: str  # what is drawn, and what its bands and intervals speak for
    # of the study, for `draw`
    settings: tuple[Literal["margin", "arms", "variants", "baselines", "kept", "validity"], ...] = ()
    needs: str = ""  # the key of a study's file without which there is no such figure


if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ict_core.evidence.stored import Stored

FIGURES = read_declarations(Path(__file__).parent, "FIGURE", FigureDeclaration)  # by the name of its module
_OF_SCORES = {"runs", "levels", "contrasts", "batches"}


def figures_of(settings: Mapping[str, Any]) -> dict[str, FigureDeclaration]:
    """The figures of a study with these settings."""
    return {name: figure for name, figure in FIGURES.items() if not figure.needs or settings.get(figure.needs)}


def reads(name: str) -> list[str]:
    """The frames that a figure and its note read."""
    inputs = FIGURES[name].inputs
    note_frames = {"scores": bool(_OF_SCORES & set(inputs)), "validity": "contrasts" in inputs}
    return [*inputs, *(frame for frame, needed in note_frames.items() if needed)]


def sentence_of(figure: Path) -> str | None:
    """The text of `panels.sentence` in a PNG that `figures.write` made; None if the figure shows data.

    A UserError says that there is no such file, or none that can be read (`Damaged`).
    """
    from PIL import Image

    try:
        with Image.open(figure) as image:
            return image.info.get("Description")
    except FileNotFoundError as error:
        raise UserError(f"{figure}: no such file; run the stage that draws it") from error
    except OSError as error:
        raise Damaged(f"{figure}: not a PNG ({error})", figure) from None


def draw(name: str, study: "Stored") -> "Figure":
    """The figure of that name for a study: of its `shared` variants, or of all if the figure declares `variants`.

    A UserError where a frame is missing or broken, and in the case named in :class:`FigureDeclaration`.
    """
    declaration = FIGURES[name]
    settings: dict[str, Any] = {"variants": study.settings.shared}
    settings |= {setting: getattr(study.settings, setting) for setting in declaration.settings}
    return drawn(name, study, declaration.inputs, **settings)


def drawn(module: str, study: "Stored", frames: Sequence[str], **settings: Any) -> "Figure":
    """The figure that a module draws from a study's frames of these names."""
    from matplotlib import rc_context  # imported here, as titles and inputs are read at every start

    from ict_core.figures.panels import RC

    with rc_context(RC):
        return import_module(f"ict_core.figures.{module}").draw(*map(study.frame, frames), **settings)


def caption(name: str, study: "Stored") -> str:
    """A figure's caption and, if it shows an average over benchmarks, those outside of it."""
    return " ".join(filter(None, [FIGURES[name].caption, study.outside if "scores" in reads(name) else ""]))


def note(name: str, study: "Stored") -> str:
    """The note at the foot of a figure: the study's note, samples without a grade, verdicts that do not count."""
    from ict_core.evidence.gates import without_verdicts  # as in `drawn`
    from ict_core.statistics.metrics import ungraded

    frames = reads(name)
    ungraded_text = ungraded(study.frame("scores"), study.averaged).replace("`", "") if "scores" in frames else ""
    gates = without_verdicts(study.frame("validity")) if "validity" in frames else ""
    return " ".join(filter(None, [study.settings.note, ungraded_text, gates]))
