"""Compares vLLM's weights with the trainer's, through the log-probabilities that both give to fixed prompts."""

import torch
from accelerate import Accelerator
from torch import Tensor

from ict_core.errors import UserError
from ict_core.training.rollouts import SeededSampler


class WeightProbe:
    """Stops a run whose rollouts do not come from the weights that it trains.

    The bound must lie above the rounding of the sampler's precision, so it sees a transfer that lost or kept a part of
    the weights, not the difference that one small step makes.

    Args:
        sampler: where vLLM's log-probs come from.
        bound: the largest mean difference, nats a token.
    """

    def __init__(self, sampler: SeededSampler, accelerator: Accelerator, bound: float) -> None:
        self._sampler = sampler
        self._accelerator = accelerator
        self._bound = bound

    @torch.no_grad()
    def check(self, model: torch.nn.Module, step: int) -> float:
        """The mean difference of log-probs, nats, the largest of all ranks. Every rank must call it.

        Raises:
            UserError: it is beyond the bound, on every rank.
        """
        prompts, probed = self._sampler.probe, self._sampler.take_probe()
        own = [self._log_probs(model, prompt) for prompt in prompts]  # on every rank: a sharded model needs all
        difference = 0.0
        if probed is not None:
            apart = [(theirs.to(ours.device) - ours).abs() for theirs, ours in zip(probed, own, strict=True)]
            difference = torch.cat(apart).mean().item()
        largest = self._accelerator.gather(torch.tensor([difference], device=self._accelerator.device)).max().item()
        if not largest <= self._bound:  # NaN as well
            raise UserError(
                f"step {step}: vLLM's log-probs of {len(prompts)} fixed prompts differ from the trainer's by "
                f"{largest:.3g} nats a token; allowed: at most {self._bound:g} (rollouts.probe_bound). vLLM does not "
                "sample from the trained weights. On the CPU its weights cannot be replaced where the embeddings are "
                "tied: leave out training.rollouts there"
            )
        return largest

    def _log_probs(self, model: torch.nn.Module, prompt: list[int]) -> Tensor:
        ids = torch.tensor([prompt], device=self._accelerator.device)
        with self._accelerator.autocast():
            logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
        return logits[0, :-1].float().log_softmax(-1).gather(-1, ids[0, 1:, None]).squeeze(-1)
