"""All completions of one cell: every benchmark, n samples a problem, one engine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.errors import UserError
from ict_core.evaluation._engine import Engine, Request, Sampling
from ict_core.seeding import derive_seed


def stop_token_ids(model: Path) -> tuple[int, ...]:
    """The stop ids that a checkpoint's generation config names.

    Raises:
        UserError: it names none; sampling would only ever end at the token limit.
    """
    file = model / "generation_config.json"
    try:
        ids = _read(file).get("eos_token_id")
    except FileNotFoundError as error:
        raise UserError(f"{file}: no such file; the checkpoint must name its stop ids there") from error
    if not (listed := ids if isinstance(ids, list) else [ids]) or not all(type(i) is int for i in listed):
        raise UserError(f"{file}: eos_token_id names no stop id; a number or a list of numbers is needed")
    return tuple(listed)


def _read(file: Path) -> dict[str, Any]:
    """A checkpoint's own JSON."""
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: not JSON ({error}); make or fetch the checkpoint again") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: not a mapping; make or fetch the checkpoint again")
    return content


def generate(
    engine: Engine, problems: pd.DataFrame, samples: Mapping[str, int], seed: int, sampling: Sampling
) -> pd.DataFrame:
    """Sample completions of every problem: ``records.COMPLETIONS``, samples of a problem together.

    ``samples`` is n of each benchmark. The seed of a completion is derived from the cell's, the problem and the sample
    index, so that it changes neither with n nor with the other benchmarks.
    """
    rows, requests = [], []
    for benchmark, problem, prompt in problems[["benchmark", "problem", "prompt"]].itertuples(index=False):
        for sample in range(samples[benchmark]):
            own = derive_seed(seed, "evaluation", benchmark, problem, sample)
            rows.append((benchmark, problem, sample, own))
            requests.append(Request(prompt, own))
    frame = pd.DataFrame(rows, columns=["benchmark", "problem", "sample", "seed"])
    return frame.join(pd.DataFrame(engine.sample(requests, sampling)))


def context_length(
    model: Path, problems: pd.DataFrame, max_new_tokens: int, key: str = "evaluation.max_new_tokens"
) -> int:
    """The longest prompt plus completion that these problems need, in tokens; ``key`` sets ``max_new_tokens``.

    Raises:
        UserError: it is more than the checkpoint's config allows; the problem is named.
    """
    from ict_core.models import read_tokenizer

    most = _read(model / "config.json").get("max_position_embeddings")
    if not isinstance(most, int):
        raise UserError(f"{model / 'config.json'}: max_position_embeddings: {most!r}; a whole number is needed")
    lengths = [len(ids) for ids in read_tokenizer(model)(problems["prompt"].tolist())["input_ids"]]
    longest = max(lengths)
    if longest + max_new_tokens > most:
        row = problems.iloc[lengths.index(longest)]
        raise UserError(
            f"{row['benchmark']}, problem {row['problem']}: a prompt of {longest} tokens and "
            f"{key}: {max_new_tokens} are more than the {most} tokens that the model can hold; "
            f"allowed: at most {most - longest}"
        )
    return longest + max_new_tokens
