"""A selection of tokens in verl's FSDP actor: the policy loss sees the chosen tokens alone.

`update_policy` of `verl.workers.actor.dp_actor.DataParallelPPOActor` takes the rollouts of one update, before it splits
them. Call :func:`keep_tokens` on them there, for instance in a subclass:

    class SelectiveActor(DataParallelPPOActor):
        def update_policy(self, data):
            keep_tokens(self.actor_module, data, ICT, group_size=8, step=self.step)
            self.step += 1
            return super().update_policy(data)

With `actor.loss_agg_mode=seq-mean-token-mean` every response is divided by its kept tokens, as ICT's is. Groups must be
whole and consecutive on each rank: `trainer.balance_batch=False`.
"""

from typing import Any

from ict_core import Choice, select

ICT = Choice.of("ict-10", warmup_steps=10)


def keep_tokens(model: Any, data: Any, selection: Choice, group_size: int, step: int) -> None:
    """Put the weights of the tokens, (B, T), in the place of verl's `response_mask`.

    `data` is a DataProto: `batch` has `input_ids` and `attention_mask` (B, P + T), `responses`, `response_mask` and
    `advantages` (B, T); `meta_info` has the `temperature` of the rollouts.
    """
    batch, length = data.batch, data.batch["responses"].size(1)
    mask = batch["response_mask"]
    rollouts = {
        "prompt_ids": batch["input_ids"][:, :-length],
        "prompt_mask": batch["attention_mask"][:, :-length],
        "completion_ids": batch["responses"],
        "completion_mask": mask,
        "advantages": (batch["advantages"] * mask).sum(1) / mask.sum(1).clamp(min=1),  # the same at every token
    }
    temperature = data.meta_info["temperature"]
    chosen = select(model, rollouts, selection, group_size=group_size, temperature=temperature, seed=step, step=step)
    batch["response_mask"] = chosen.weights.float()
