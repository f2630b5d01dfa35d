"""What a user names as a selection, made into the rule with its denominator and warm-up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from ict_core.config.method_files import load_method
from ict_core.config.methods import Method, Normaliser, Surrogate
from ict_core.errors import UserError
from ict_core.selection.base import Rule, TokenBatch
from ict_core.store.layout import METHODS
from ict_core.store.token_scores import GROUP_SCORES, UNSAMPLED_SCORES

RuleFunction = Callable[[TokenBatch, torch.Generator], Tensor]
"""A rule of one's own: the weights (B, T), bool or float >= 0, of a batch; the generator is the source of any draws."""


@dataclass(frozen=True)
class Own:
    """A function of one's own as a rule."""

    function: RuleFunction

    def weights(self, batch: TokenBatch, seed: int) -> Tensor:
        """What the function gives; a ValueError says what is wrong with it."""
        name = getattr(self.function, "__name__", "the rule")
        weights = self.function(batch, torch.Generator().manual_seed(seed))
        if not isinstance(weights, Tensor):
            raise ValueError(f"{name}: {type(weights).__name__} in place of weights; allowed: a tensor")
        if weights.shape != batch.mask.shape:
            raise ValueError(f"{name}: weights of shape {tuple(weights.shape)}; allowed: {tuple(batch.mask.shape)}")
        weights = torch.where(batch.mask, weights, torch.zeros_like(weights))  # what it gives elsewhere may be NaN
        wrong = weights[~((weights >= 0) & weights.isfinite())]
        if len(wrong):
            raise ValueError(f"{name}: a weight of {wrong[0].item()}; allowed: finite and at least 0")
        return weights


@dataclass(frozen=True)
class Choice:
    """A rule and all else that a method says of a training step."""

    rule: Rule | Own
    normaliser: Normaliser = "response"
    warmup_steps: int = 0  # optimiser steps that train every token before the rule is on
    scores: tuple[str, ...] = ()  # the scores over a group that the rule reads
    surrogate: Surrogate | None = None  # in place of the clipped ratio
    advantage: Literal["reward"] | None = None  # in place of the group's
    # whether each token of a response decides, from its prompt's text and its ids; None where that is not known
    decisions: Callable[[str, list[int]], list[bool]] | None = None

    @classmethod
    def of(cls, selection: Any, warmup_steps: int | None = None) -> "Choice":
        """The choice that was named.

        Args:
            selection: the name of a variant in ``configs/methods`` ("ict-10"); the path of a file like those; what such
                a file holds (`config.Method`); a ``Rule``; or a function of a ``TokenBatch`` and a
                torch.Generator that gives the weights. A rule and a function have the whole response as denominator;
                say it otherwise by a Choice of one's own.
            warmup_steps: of what has a warm-up and states none, as a study's `selection_warmup_steps`: ICT and its
                relatives need it, a rule and a function have none without it.

        Raises:
            UserError: no such variant, its file is wrong, or neither it nor the call states its warm-up.
        """
        if isinstance(selection, Choice):
            return selection
        if warmup_steps is not None and (not isinstance(warmup_steps, int) or warmup_steps < 0):
            raise UserError(f"warmup_steps: {warmup_steps!r} is not allowed; allowed: a whole number >= 0")
        named = selection if isinstance(selection, (str, Path)) else getattr(selection, "selector", "")
        if isinstance(selection, (str, Path)):
            selection = _read(selection)
        if isinstance(selection, Rule):
            return cls(selection, warmup_steps=warmup_steps or 0, scores=_group_scores(selection))
        if hasattr(selection, "selector"):
            own = warmup_steps if selection.warmup is None else selection.warmup
            if own is None:
                raise UserError(
                    f"selection: {named!r} has a warm-up and does not state it; give selection_warmup_steps (the paper "
                    "of ICT: 10) to the trainer, or warmup_steps to Choice.of; allowed: a whole number >= 0"
                )
            rule = Rule.of(selection.selector, selection)
            scores, surrogate = _group_scores(rule), selection.surrogate
            return cls(rule, selection.normaliser, own, scores, surrogate, selection.advantage)
        if callable(selection):
            return cls(Own(selection), warmup_steps=warmup_steps or 0, scores=tuple(GROUP_SCORES))
        allowed = "a name from configs/methods, a YAML file, a Rule, or a function of (TokenBatch, torch.Generator)"
        raise UserError(f"selection: {selection!r} is not allowed; allowed: {allowed}")

    def check(self, updates: int) -> None:
        """A UserError for a rule that does nothing, or half of what it says, with so many updates a rollout batch.

        Or for one that reads the problems' true steps where nobody told them.
        """
        if updates == 1 and self.two_updates:
            raise UserError(f"selection: {self._named} needs two updates a rollout batch; set num_iterations=2")
        if self._traits.known_steps and self.decisions is None:
            raise UserError(
                f"selection: {self._named} reads the true steps of generated problems, which a script of your own does "
                "not have; allowed: any other rule here, and this one in a study without data.train_sets"
            )

    @property
    def _traits(self) -> type[Method]:
        return self.rule.traits if isinstance(self.rule, Rule) else Method

    @property
    def _named(self) -> str:
        return "a surrogate of its own" if self.surrogate is not None else getattr(self.rule, "selector", "the rule")

    @property
    def two_updates(self) -> bool:
        """Whether the rule is about a second update on the same rollouts."""
        return self.surrogate is not None or self._traits.two_updates

    @property
    def keeps_every_token(self) -> bool:
        """Whether the rule is GRPO's."""
        return isinstance(self.rule, Rule) and self.rule.selector == "grpo" and self.rule.control is None

    def decided(self, batch: Mapping[str, Tensor], tokenizer: Any) -> Tensor | None:
        """The tokens of a rollout batch that decide, (B, T) bool, for a rule that reads them; None for any other.

        The batch has TRL's ``prompt_ids``, ``completion_ids`` and their masks.
        """
        if self.decisions is None or not self._traits.known_steps:
            return None
        marks = torch.zeros_like(batch["completion_mask"], dtype=torch.bool)
        for row, on in enumerate(batch["completion_mask"].bool()):
            prompt = tokenizer.decode(batch["prompt_ids"][row][batch["prompt_mask"][row].bool()])
            own = self.decisions(prompt, batch["completion_ids"][row][on].tolist())
            marks[row, on] = torch.tensor(own, dtype=torch.bool, device=on.device)
        return marks


def _group_scores(rule: Rule) -> tuple[str, ...]:
    """The score over a group that a rule reads, if it reads one."""
    score = rule.parameters.get("score")
    return (score,) if score in GROUP_SCORES or score in UNSAMPLED_SCORES else ()


def _read(named: str | Path) -> Method:
    """A variant of the project, or of a file."""
    path = Path(named)
    if path.suffix not in (".yaml", ".yml"):
        path = METHODS / f"{named}.yaml"
    method = load_method(path)
    elsewhere = {
        "group_size": "GRPOConfig's num_generations",
        "random_reward": "a reward function",
        "entropy_bonus": "GRPOConfig's entropy_coef",
    }
    for key, instead in elsewhere.items():
        if getattr(method, key, None) is not None:
            raise UserError(f"{path}: {key}: {getattr(method, key)} is no part of a selection; state it by {instead}")
    return method
