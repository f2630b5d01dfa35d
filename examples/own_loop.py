"""Selection in a training loop of one's own, without TRL's trainer: `python examples/own_loop.py MODEL`."""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from ict_core import Choice, select

GROUP, LENGTH = 4, 16  # rollouts of a prompt, and their tokens at most
ICT = Choice.of("ict-10", warmup_steps=1)  # steps that train every token first
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
ends = torch.tensor(model.generation_config.eos_token_id or tokenizer.eos_token_id)  # one id, or several
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)

for step in range(int(sys.argv[2]) if len(sys.argv) > 2 else 5):
    prompts = tokenizer([f"{step + a} + {a} = " for a in (2, 3)], return_tensors="pt", padding=True)
    whole = model.generate(
        input_ids=prompts["input_ids"],
        attention_mask=prompts["attention_mask"],
        do_sample=True,  # from the very distribution that is trained: checkpoints have other defaults of their own
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        repetition_penalty=1.0,
        max_new_tokens=LENGTH,
        num_return_sequences=GROUP,
        pad_token_id=tokenizer.pad_token_id,
    )
    ids = prompts["input_ids"].repeat_interleave(GROUP, 0)
    completions = whole[:, ids.size(1) :]
    ended = torch.isin(completions, ends).long()
    batch = {
        "prompt_ids": ids,
        "prompt_mask": prompts["attention_mask"].repeat_interleave(GROUP, 0),
        "completion_ids": completions,
        "completion_mask": (ended.cumsum(1) - ended == 0).long(),  # the tokens after the first end are padding
    }
    rewards = torch.tensor([text.count("1") for text in tokenizer.batch_decode(completions)]).float().view(-1, GROUP)
    batch["advantages"] = ((rewards - rewards.mean(1, True)) / (rewards.std(1, keepdim=True) + 1e-4)).flatten()

    chosen = select(model, batch, ICT, group_size=GROUP, seed=step, step=step)

    seen = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    logits = model(input_ids=whole, attention_mask=seen).logits[:, -completions.size(1) - 1 : -1]
    logprob = logits.log_softmax(-1).gather(-1, completions.unsqueeze(-1)).squeeze(-1)
    gain = (logprob - logprob.detach()).exp() * batch["advantages"].unsqueeze(1)
    loss = -((gain * chosen.weights).sum(1) / chosen.denominator).mean()
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()
    print(f"step {step}: reward {rewards.mean():.2f}, {int((chosen.weights > 0).sum())} tokens trained")
