"""Every figure by its name, in the report's order, with what it is drawn from and what is said of it."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from matplotlib.figure import Figure

from ict_core.evidence.stored import Stored
from ict_core.figures import (
    ablations,
    components,
    elbow,
    entropy,
    forest,
    forks,
    length,
    overlap,
    pass_at_k,
    purity,
    reward,
    single_logit,
    statements,
    thresholds,
    update,
)
from ict_core.figures.captions import CAPTIONS, TITLES

Frame = Literal["log", "tokens", "runs", "levels", "contrasts", "components", "shadow", "overlap"]
Setting = Literal["margin", "arms", "variants", "baselines"]


class Entry(NamedTuple):
    """How a figure is made: `draw(*frames, variants=shown, **settings)`.

    Attributes:
        draw: the frames of `inputs` in that order, then the keyword `variants` and the keywords of `settings`.
        inputs: names of frames of `records`: the study's log and tokens, and those of the statistics stage.
        title: a few words.
        caption: what is drawn, and what its bands and intervals speak for.
        settings: the study's settings that it draws, such as the `margin` of equivalence (a share).
    """

    draw: Callable[..., Figure]
    inputs: tuple[Frame, ...]
    title: str
    caption: str
    settings: tuple[Setting, ...] = ()


_DRAWN: dict[str, tuple[Callable[..., Figure], tuple[Frame, ...]]] = {
    "reward": (reward.draw, ("log",)),
    "entropy": (entropy.draw, ("log",)),
    "pass_at_k": (pass_at_k.draw, ("levels", "runs")),
    "thresholds": (thresholds.draw, ("levels", "runs")),
    "forest": (forest.draw, ("contrasts", "runs")),
    "ablations": (ablations.draw, ("contrasts", "runs")),
    "elbow": (elbow.draw, ("tokens",)),
    "purity": (purity.draw, ("tokens",)),
    "statements": (statements.draw, ("log", "tokens")),
    "forks": (forks.draw, ("shadow",)),
    "overlap": (overlap.draw, ("overlap",)),
    "single_logit": (single_logit.draw, ("tokens",)),
    "update": (update.draw, ("tokens",)),
    "components": (components.draw, ("components",)),
    "length": (length.draw, ("log",)),
}

_SETTINGS: dict[str, tuple[Setting, ...]] = {
    "forest": ("margin",),
    "ablations": ("margin", "arms"),
    "forks": ("variants", "baselines"),
    "overlap": ("variants",),
}

FIGURES: dict[str, Entry] = {
    name: Entry(draw, inputs, TITLES[name], CAPTIONS[name], _SETTINGS.get(name, ()))
    for name, (draw, inputs) in _DRAWN.items()
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
