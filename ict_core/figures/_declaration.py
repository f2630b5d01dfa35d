"""What a figure's module declares: read by `figures.registry` without importing it."""

from dataclasses import dataclass
from typing import Literal

from ict_core.evidence import Shown

Setting = Literal["margin", "arms", "variants", "baselines"]


@dataclass(frozen=True, kw_only=True)
class Declaration(Shown):
    """A figure, whose module has the function ``draw(*frames, variants=..., **settings)``.

    `registry.draw` calls it within matplotlib's settings `style.RC`. The frames are those of `inputs`, of the schemas
    that `evidence.stored` and `statistics.schemas` give them; none is changed. `variants` are those to show, in the
    legend's order or from top to bottom; those without rows, such as base in a log, are left out. A study that has
    nothing to draw gets `panels.sentence`; a UserError says that none of the variants has rows, or that a frame lacks
    the average.

    Attributes:
        caption: what is drawn, and what its bands and intervals speak for.
        settings: the study's settings that it draws, such as the `margin` of equivalence (a share).
    """

    caption: str
    settings: tuple[Setting, ...] = ()
