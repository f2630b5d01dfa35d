"""An update's measured change of H2 beside the paper's statement: a row a variant."""

from functools import partial

from ict_core.figures._registry import FigureDeclaration
from ict_core.figures._update_panels import Panel, draw_panels
from ict_core.theory import LESS_CHANCE

FIGURE = FigureDeclaration(
    place=13,
    title="An update's change of the entropies",
    caption=(
        "The same states before and after an optimiser step, at the steps at which the rule selects; tokens whose H2 "
        "moved by less than 1e-6 nats are left out. As stated: share whose H2 moved with the sign of A (β - π), A the "
        "advantage. Log-odds follow A: share whose sampled token's log-odds moved in the direction of A. Less chance: "
        "less what the same frequencies of either sign would give if they were independent. Every marker is one run, "
        "the bar a 95 % t interval over the training seeds around their mean. A run with fewer than 10 such tokens has "
        "no marker."
    ),
    inputs=("quantities", "agreement", "agreement_means"),
)

PANELS = (
    Panel("As stated, π > β", f"statement{LESS_CHANCE}", "p > beta"),
    Panel("As stated, π < β", f"statement{LESS_CHANCE}", "p < beta"),
    Panel("Log-odds follow A", f"follows_advantage{LESS_CHANCE}", "all"),
)

draw = partial(draw_panels, PANELS)
