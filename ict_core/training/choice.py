"""Turns the selection that a user names into a rule with its denominator and warm-up."""

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
"""A user's rule: returns a batch's weights, (B, T), bool or float >= 0; all random draws come from the generator."""


@dataclass(frozen=True)
class Own:
    """A user's function as a rule."""

    function: RuleFunction

    def weights(self, batch: TokenBatch, seed: int) -> Tensor:
        """The function's weights; a ValueError says what is wrong with them."""
        if not batch.mask.any():  # as where TRL has masked every truncated response
            return batch.mask
        name = getattr(self.function, "__name__", "the rule")
        weights = self.function(batch, torch.Generator().manual_seed(seed))
        if not isinstance(weights, Tensor):
            raise ValueError(f"{name}: {type(weights).__name__} in place of weights; allowed: a tensor")
        if weights.shape != batch.mask.shape:
            raise ValueError(f"{name}: weights of shape {tuple(weights.shape)}; allowed: {tuple(batch.mask.shape)}")
        weights = torch.where(batch.mask, weights, torch.zeros_like(weights))  # outside the mask it may return NaN
        invalid = weights[~((weights >= 0) & weights.isfinite())]
        if len(invalid):
            raise ValueError(f"{name}: a weight of {invalid[0].item()}; allowed: finite and at least 0")
        return weights


@dataclass(frozen=True)
class Choice:
    """A rule and everything else that a method specifies for a training step."""

    rule: Rule | Own
    normaliser: Normaliser = "response"
    warmup_steps: int = 0  # optimiser steps that train every token before the rule takes effect
    scores: tuple[str, ...] = ()  # the group scores that the rule reads
    surrogate: Surrogate | None = None  # used instead of the clipped ratio
    advantage: Literal["reward"] | None = None  # used instead of the group's advantage
    # maps a prompt's text and a response's ids to whether each token is a decision; None where that is unknown
    decisions: Callable[[str, list[int]], list[bool]] | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.rule, "weights"):
            raise UserError("Choice: a function goes to Choice.of; change the result by dataclasses.replace")

    @classmethod
    def of(cls, selection: Any, warmup_steps: int | None = None) -> "Choice":
        """The choice for a named selection.

        Args:
            selection: the name of a variant in ``configs/methods`` ("ict-10"); the path of a file in that format; the
                content of such a file (`config.methods.Method`); a ``Rule``; or a function that returns the weights
                from a ``TokenBatch`` and a torch.Generator. For a rule or a function the denominator is the whole
                response; for another one, pass a ``Choice``, which is returned as it is.
            warmup_steps: the warm-up of a selection that does not state its own, as a study's `selection_warmup_steps`.
                ICT and its relatives need it; a rule or a function has no warm-up without it.

        Raises:
            UserError: there is no such variant, its file is wrong, or neither it nor the call states its warm-up.
        """
        if isinstance(selection, Choice):
            if warmup_steps is not None:
                raise UserError("selection_warmup_steps: a Choice states its own; give warmup_steps to Choice.of")
            return selection
        if warmup_steps is not None and (not isinstance(warmup_steps, int) or warmup_steps < 0):
            raise UserError(f"warmup_steps: {warmup_steps!r} is not allowed; allowed: a whole number >= 0")
        name = selection if isinstance(selection, (str, Path)) else getattr(selection, "selector", "")
        if isinstance(selection, (str, Path)):
            selection = _read(selection)
        if isinstance(selection, Rule):
            return cls(selection, warmup_steps=warmup_steps or 0, scores=_group_scores(selection))
        if hasattr(selection, "selector"):
            warmup = warmup_steps if selection.warmup is None else selection.warmup
            if warmup is None:
                raise UserError(
                    f"selection: {name!r} has a warm-up and does not state it; give selection_warmup_steps (the paper "
                    "of ICT: 10) to the trainer, or warmup_steps to Choice.of; allowed: a whole number >= 0"
                )
            rule = Rule.of(selection.selector, selection)
            scores, surrogate = _group_scores(rule), selection.surrogate
            return cls(rule, selection.normaliser, warmup, scores, surrogate, selection.advantage)
        if callable(selection):
            return cls(Own(selection), warmup_steps=warmup_steps or 0, scores=tuple(GROUP_SCORES))
        allowed = "a name from configs/methods, a YAML file, a Rule, or a function of (TokenBatch, torch.Generator)"
        raise UserError(f"selection: {selection!r} is not allowed; allowed: {allowed}")

    def check(self, updates: int) -> None:
        """Raise a UserError for a rule that does nothing, or half its work, with so many updates per rollout batch.

        Also for a rule that reads the problems' true steps where these are not known.
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
        """Whether the rule concerns a second update on the same rollouts."""
        return self.surrogate is not None or self._traits.two_updates

    @property
    def keeps_every_token(self) -> bool:
        """Whether the rule is GRPO's."""
        return isinstance(self.rule, Rule) and self.rule.traits.keeps_every_token and self.rule.control is None

    def decided(self, batch: Mapping[str, Tensor], tokenizer: Any) -> Tensor | None:
        """The decision tokens of a rollout batch, (B, T) bool, for a rule that reads them; None for any other rule.

        The batch has TRL's ``prompt_ids``, ``completion_ids`` and their masks.
        """
        if self.decisions is None or not self._traits.known_steps:
            return None
        marks = torch.zeros_like(batch["completion_mask"], dtype=torch.bool)
        for row, response in enumerate(batch["completion_mask"].bool()):
            prompt = tokenizer.decode(batch["prompt_ids"][row][batch["prompt_mask"][row].bool()])
            decisions = self.decisions(prompt, batch["completion_ids"][row][response].tolist())
            marks[row, response] = torch.tensor(decisions, dtype=torch.bool, device=response.device)
        return marks


def _group_scores(rule: Rule) -> tuple[str, ...]:
    """The group score that a rule reads, if it reads one."""
    score = rule.parameters.get("score")
    return (score,) if score in GROUP_SCORES or score in UNSAMPLED_SCORES else ()


def _read(named: str | Path) -> Method:
    """The method in a YAML file, given by its path or by the name of one of the project's variants."""
    path = Path(named)
    if path.suffix not in (".yaml", ".yml"):
        path = METHODS / f"{named}.yaml"
    method = load_method(path)
    alternatives = {
        "group_size": "GRPOConfig's num_generations",
        "random_reward": "a reward function",
        "entropy_bonus": "GRPOConfig's entropy_coef",
        "batch": "GRPOConfig's batch size and max_steps",
        "replica": "another seed",
    }
    for key, place in alternatives.items():
        if getattr(method, key, None) is not None:
            raise UserError(f"{path}: {key}: {getattr(method, key)} is no part of a selection; state it by {place}")
    return method
