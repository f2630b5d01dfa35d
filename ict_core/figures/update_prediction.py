"""An update's measured change of H2 beside the single-logit prediction: a row a variant."""

from functools import partial

from ict_core.figures._registry import FigureDeclaration
from ict_core.figures._update_panels import Panel, draw_panels

FIGURE = FigureDeclaration(
    place=18,
    title="Appendix: an update's change of H2, predicted from one logit",
    caption=(
        "The same states before and after an optimiser step, at the steps at which the rule selects; tokens whose H2 "
        "moved by less than 1e-6 nats are left out. As predicted: share whose H2 moved with the sign that it would "
        "have, had this token's logit alone moved, by the measured change of its log-odds; rank correlation (Spearman) "
        "of the two. Every marker is one run, the bar a 95 % t interval over the training seeds around their mean. A "
        "run with fewer than 10 such tokens has no marker."
    ),
    inputs=("quantities", "agreement", "agreement_means"),
)

PANELS = (
    Panel("As predicted, π > β", "h2_sign", "p > beta"),
    Panel("As predicted, π < β", "h2_sign", "p < beta"),
    Panel("Rank correlation", "h2_exact_rank", "all"),
)

draw = partial(draw_panels, PANELS)
