"""Every figure by its name, in the report's order, with what it is drawn from and what is said of it."""

from importlib import import_module
from typing import Any, Literal, NamedTuple

from matplotlib.figure import Figure

from ict_core.evidence.stored import Stored
from ict_core.figures.captions import CAPTIONS, TITLES
from ict_core.statistics.graded import Graded

Setting = Literal["margin", "arms", "variants", "baselines"]


class Entry(NamedTuple):
    """How a figure is made.

    Attributes:
        name: of the figure, and of the module here whose function `draw` draws it.
        inputs: names of frames of `records`: the study's log and tokens, and those of the statistics stage.
        title: a few words.
        caption: what is drawn, and what its bands and intervals speak for.
        settings: the study's settings that it draws, such as the `margin` of equivalence (a share).
    """

    name: str
    inputs: tuple[str, ...]
    title: str
    caption: str
    settings: tuple[Setting, ...] = ()

    def draw(self, *frames: Any, **settings: Any) -> Figure:
        """The figure of the frames of `inputs`, in that order, with the keywords `variants` and those of `settings`."""
        figure: Figure = import_module(f"ict_core.figures.{self.name}").draw(*frames, **settings)
        return figure


_INPUTS: dict[str, tuple[str, ...]] = {
    "reward": ("log",),
    "entropy": ("log",),
    "pass_at_k": ("levels", "runs"),
    "thresholds": ("levels", "runs"),
    "forest": ("contrasts", "runs"),
    "ablations": ("contrasts", "runs"),
    "elbow": ("quantities", "curves"),
    "purity": ("tokens",),
    "statements": ("quantities", "quantity_means"),
    "forks": ("shadow",),
    "overlap": ("overlap",),
    "single_logit": ("quantities", "single_logit", "single_logit_bins"),
    "update": ("quantities", "agreement", "agreement_means"),
    "components": ("components",),
    "length": ("log",),
}

_SETTINGS: dict[str, tuple[Setting, ...]] = {
    "forest": ("margin",),
    "ablations": ("margin", "arms"),
    "forks": ("variants", "baselines"),
    "overlap": ("variants",),
}

FIGURES: dict[str, Entry] = {
    name: Entry(name, inputs, TITLES[name], CAPTIONS[name], _SETTINGS.get(name, ())) for name, inputs in _INPUTS.items()
}


def draw(name: str, study: Stored) -> Figure:
    """The figure of that name from a study's stored frames; of the variants it shows those of the line figures.

    One whose settings name `variants` shows all of them.

    Raises:
        UserError: a frame is missing or broken, or see the figure's own module.
    """
    entry = FIGURES[name]
    frames = [study.frame(frame) for frame in entry.inputs]
    settings = {setting: getattr(study.settings, setting) for setting in entry.settings}
    return entry.draw(*frames, **({"variants": study.settings.shared} | settings))


def note(name: str, study: Stored) -> str:
    """What stands at the foot of the figure of that name: the study's note, and which samples could not be graded."""
    scored = {"runs", "levels", "contrasts", "components"} & set(FIGURES[name].inputs)
    ungraded = Graded(study.frame("scores")).sentence().replace("`", "") if scored else ""
    return " ".join(filter(None, [study.settings.note, ungraded]))
