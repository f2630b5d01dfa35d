"""The declarations of the figures, by name. Only drawing imports their modules, and matplotlib."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ict_core.errors import Damaged, UserError


@dataclass(frozen=True, kw_only=True)
class FigureDeclaration:
    """The declaration of a figure, whose module has the function ``draw(*frames, variants=..., **settings)``.

    The frames are those named in `inputs`, from `evidence.stored.Stored`; none is changed. `variants` are shown in the
    order given, in the legend or from top to bottom; variants without rows, such as base in a log, are left out. A
    study with nothing to draw gets `panels.sentence`. A UserError says that none of the variants has rows.
    """

    title: str  # a few words
    inputs: tuple[str, ...]  # names of frames of `evidence.stored.Stored`, in the order in which `draw` takes them
    caption: str  # what is drawn, and what its bands and intervals speak for
    # of the study, for `draw`
    settings: tuple[Literal["margin", "arms", "variants", "baselines", "kept", "validity"], ...] = ()
    needs: str = ""  # the key of a study's file without which there is no such figure


if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ict_core.evidence.stored import Stored

FIGURES = {  # by the name of the module that draws it, in the order of the report
    "reward": FigureDeclaration(
        title="Training reward",
        caption=(
            "Share of the rollouts of a batch that the verifier accepts, a centred mean over 5 optimiser steps. Lines "
            "are means over the training seeds that each panel names, bands run from the lowest to the highest seed. "
            "Where curves are equal, the wide one and the dashed one let each other show."
        ),
        inputs=("log",),
    ),
    "entropy": FigureDeclaration(
        title="Token entropy during training",
        caption=(
            "Mean entropy of the policy over all response tokens of a rollout batch: Shannon's H1 above, second-order "
            "Rényi's H2 below. Lines are means over the training seeds that each panel names, bands run from the "
            "lowest to the highest seed; nothing is smoothed."
        ),
        inputs=("log",),
    ),
    "pass_at_k": FigureDeclaration(
        title="Pass@k over k",
        caption=(
            "Share of the problems that at least one of k samples solves, averaged over the benchmarks with equal "
            "weight. Lines are means over the training seeds that each panel names, bars 95 % two-way intervals (new "
            "runs on new problems; of one run, over problems), and every dot is one run; what belongs to one k stands "
            "side by side only to be told apart. The untrained model, or the mean of several, is the dashed grey line."
        ),
        inputs=("levels", "runs"),
    ),
    "thresholds": FigureDeclaration(
        title="The share of tokens kept",
        caption=(
            "Average over the benchmarks against the share of the response tokens that a rule keeps, for the rules of "
            "which at least two shares ran; those that keep the same share stand side by side. Right of the line, off "
            "the axis, stand rules with one share and the first baseline. Bars are 95 % two-way intervals (new runs on"
            " new problems; of one run, over problems) around the mean over the training seeds that each panel names, "
            "every marker is one run, the dashed line is the base model. Only models that ran at least two shares of "
            "one rule are shown."
        ),
        inputs=("levels", "runs"),
        settings=("kept", "baselines"),
    ),
    "forest": FigureDeclaration(
        title="Differences to every baseline",
        caption=(
            "Each method minus each baseline on the average over the benchmarks, in percent points. Thick bars are 95 "
            "% t intervals over paired training seeds (new runs on these problems), thin ones 95 % two-way intervals "
            "(new runs on new problems), every small dot is one pair of runs with the same seed. Filled markers are "
            "the comparisons declared in the ledger of claims or by the study; the word at the right is the verdict "
            "after the correction in its family."
        ),
        inputs=("contrasts", "runs"),
        settings=("margin",),
    ),
    "ablations": FigureDeclaration(
        title="Ablations and controls",
        caption=(
            "Each variant minus the one from which it differs in one factor (and in the learning rate where it has one"
            " of its own), on the average over the benchmarks, in percent points. A heading names the factor, the "
            "variant that is varied and its value in brackets; a line the value in its place. Thick bars are 95 % t "
            "intervals over paired training seeds (new runs on these problems), thin ones 95 % two-way intervals (new "
            "runs on new problems), every small dot is a pair of runs with one seed. The word at the right is the "
            "verdict on the variant after the correction in its family."
        ),
        inputs=("contrasts", "runs"),
        settings=("margin", "arms"),
    ),
    "elbow": FigureDeclaration(
        title="Where the sorted scores bend",
        caption=(
            "The score u (Jensen-Shannon divergence between a token's distribution and its group's mean) of the tokens"
            " of a sequence, sorted from high to low, over the share of the tokens; means over the sampled sequences "
            "of the steps at which the rule selects, bands from the lowest to the highest training seed. A marker is "
            "the elbow of one run: the point of its curve furthest below the chord between the curve's ends (kneedle)."
            " A curve that runs close to its chord has no pronounced elbow. The dotted line is the paper's threshold "
            "of 10 %."
        ),
        inputs=("quantities", "curves"),
    ),
    "purity": FigureDeclaration(
        title="Token probability and strategy purity",
        caption=(
            "Probability π of a sampled token against the strategy purity β = exp(-H2) of its distribution: the share "
            "of the kept and of the dropped tokens in each cell of a 20 x 20 grid, on a logarithmic colour scale, at "
            "the steps at which the rule selects, tokens of all training seeds together. On the dotted line π = β, "
            "where by the paper's analysis H2 does not change to first order. The numbers are the tokens of the panel "
            "and their mean distance |π - β|."
        ),
        inputs=("tokens",),
    ),
    "statements": FigureDeclaration(
        title="What the paper says of kept tokens and of entropy",
        caption=(
            "Every marker is one run, the bar a 95 % t interval over the training seeds around their mean: it speaks "
            "for new runs on these prompts. Grey: what the paper states. Distance from beta: mean |π - β| of the kept "
            "tokens less that of the dropped ones (paper: below 0). High entropy: share of the kept tokens whose "
            "Shannon entropy lies above the median of their step's sampled tokens (paper: 1.03 : 1 and 0.99 : 1); a "
            "rule that keeps every token has half of them there, but for ties. Probability: mean π of the kept (paper:"
            " 0.18 ± 0.09). Elbow: of the sorted score u, the Jensen-Shannon divergence to the group's mean, whatever "
            "the variant's own score (paper: near 10 %); a run whose curve has none has no marker. Entropy over "
            "training: relative change from the first to the last fifth of the steps (paper: H1 falls, H2 is "
            "controlled). Tokens are those of the steps at which the rule selects."
        ),
        inputs=("quantities", "quantity_means"),
    ),
    "forks": FigureDeclaration(
        title="Known forks among the kept tokens",
        caption=(
            "Every rule on the same rollouts, those of the study's first baseline: the share of the known forks that a"
            " rule keeps (recall, above) and the share of the kept tokens that are forks (precision, below) at every "
            "sampled optimiser step, in percent. Forks are the tokens at which a response of the mini world chooses "
            "between a direct and a worked step. Lines are means over the training seeds, bands run from the lowest to"
            " the highest seed. The grey line is what as many tokens have that are drawn at random: a recall equal to "
            "the share kept, a precision equal to the share of forks among all tokens."
        ),
        inputs=("shadow",),
        settings=("variants", "baselines"),
    ),
    "overlap": FigureDeclaration(
        title="How far any two rules agree",
        caption=(
            "Every pair of rules on the same rollouts, those of the study's first baseline. Above the diagonal the "
            "Jaccard index of the tokens that they keep: those that both keep over those that either keeps. Below it "
            "Spearman's correlation of the scores that they rank the response tokens by; a rule that keeps the lowest "
            "scores ranks by their negative, and a dash stands where a rule ranks none. Means over the sampled steps "
            "and the training seeds; a rule whose scope is the batch has the sampled groups for its batch."
        ),
        inputs=("overlap",),
        settings=("variants",),
    ),
    "single_logit": FigureDeclaration(
        title="One logit's change and the entropies",
        caption=(
            "The sampled token's logit alone is raised or lowered: the first-order change of H2, -2 d π (π / β - 1), "
            "against the exact one. Same sign: where it can fail; for π < β and a lowered logit, and for π > β and a "
            "raised one, it is right at every step. Sign breaks at: the step beyond which more than 5 % have the other"
            " sign, up on the left of π = β and down on the right; dots are bins of π / β, lines the closed form "
            "ln((2β - π(1 + β)) / (π(1 - β))) for two β. Grey: random distributions, Dirichlet(concentration) of so "
            "many tokens. Coloured: the tokens sampled in training, the mean over the training seeds in its 95 % t "
            "interval."
        ),
        inputs=("single_logit", "single_logit_bins"),
    ),
    "length": FigureDeclaration(
        title="Response length and truncation during training",
        caption=(
            "Mean length of the responses of a rollout batch in tokens, and the share of them that were cut off at the"
            " longest length allowed; centred means over 5 optimiser steps. Lines are means over the training seeds "
            "that each panel names, bands run from the lowest to the highest seed."
        ),
        inputs=("log",),
    ),
    "bench": FigureDeclaration(
        title="Rules on one bench",
        caption=(
            "The rules, that of the highest pass@4 on top, each at its own learning rate if the study chooses rates. "
            "Left the difference from the first baseline, in the middle from the controls: as much weight on tokens at"
            " random (filled), and the rule's weights divided by their mean (open); percent points of pass@4 on the "
            "average over the benchmarks, with 95 % t intervals over paired training seeds (new runs on these "
            "problems). Blue is better and red worse after Holm's correction over all rules, grey is neither. Right "
            "the ranks that the runs leave open, which hold for all rules together with 95 % confidence; the dot is "
            "the rank of the mean."
        ),
        inputs=("contrasts", "ranks"),
        settings=("margin", "arms", "baselines", "validity"),
    ),
    "batches": FigureDeclaration(
        title="The size of a batch",
        caption=(
            "What part of the baseline's gain over the base model each rule keeps, against the tokens that it trains "
            "in a step, when the batch grows: with as many updates on the left, with as many rollouts in all on the "
            "right. The baseline has the same batch and, if the study chooses rates, every arm a learning rate of its "
            "own. Bars are Fieller's 95 % limits over base models, each with one training seed; a marker without a bar"
            " has none, as the baseline's gain is not told from 0. The dotted line is all of the gain."
        ),
        inputs=("batches",),
    ),
    "learning_curve": FigureDeclaration(
        title="Learning curves on held-out problems",
        caption=(
            "Share of the answers to the same few held-out problems that are right, by the training's own sampler, at "
            "step 0 and every few optimiser steps. Lines are means over the training seeds that each panel names, "
            "bands the 95 % t intervals of three runs or more: they speak for new runs on these problems. Where curves"
            " are equal, the wide one and the dashed one let each other show."
        ),
        inputs=("learning_curve_means",),
        needs="learning_curve",
    ),
}
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
