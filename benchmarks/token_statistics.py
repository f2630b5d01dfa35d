"""The token statistics' time relative to the bare product with the LM head, their errors, and their memory.

    python benchmarks/token_statistics.py
    python benchmarks/token_statistics.py --device cuda
    python benchmarks/token_statistics.py --quick       # one round with the small head

The statistics are log-prob, H1, H2 and the Jensen-Shannon score of groups of 8, on random states and heads whose
distributions are about as certain as a language model's. Time is a ratio, the median of interleaved rounds on one core,
to `states @ head.T` of the same rows, 256 at a time into memory that is already allocated. `naive` holds all
distributions. Memory is the peak of a separate process beyond states, head and libraries. Errors are the largest over
all tokens against float64, in nats.

The last table counts the sequences in which the top 10 % by the score and the top 20 % by H1 are the same tokens as in
an exact computation. `bfloat16` rounds states and head; with `rounded logits` the product's result is rounded too.
"""

import argparse
import copy
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from unittest import mock

import report
import torch
from torch import Tensor

from ict_core.selection.base import top_fraction
from ict_core.tokens import streaming
from ict_core.tokens.distributions import jensen_shannon, renyi2_entropy, shannon_entropy
from ict_core.tokens.streaming import Head

GROUP, ROLLOUTS = 8, 64
SIZES = {"896 x 151,936": (896, 151_936, 8), "96 x 512": (96, 512, 80)}  # width and vocabulary of a head, positions
SMALL = 64  # states at a time
NAMES = ("ln p", "H1", "H2", "JS")


class Case:
    """States (B T, D), head (V, D) and token ids (B, T); four likely tokens per position, shared by half of a group."""

    def __init__(self, size: str, device: str, positions: int | None = None) -> None:
        width, vocabulary, default = SIZES[size]
        g = torch.Generator(device).manual_seed(0)
        shape = (ROLLOUTS, positions or default)
        normal = partial(torch.randn, generator=g, device=device)
        self.head = normal(vocabulary, width).mul_(width**-0.5)
        likely = torch.randint(vocabulary, (*shape, 4), generator=g, device=device)
        separate = torch.rand(*shape, 1, generator=g, device=device) < 0.5
        likely = torch.where(separate, likely, likely[::GROUP].repeat_interleave(GROUP, 0))
        logits = normal(*shape, 4, 1).mul_(2).add_(math.log(vocabulary) + 5)
        self.states = (normal(*shape, width) * 2 + (logits * self.head[likely]).sum(-2)).flatten(0, 1)
        self.ids = likely[..., 0].contiguous()

    def rounded(self) -> "Case":
        """The same case with states and head in bfloat16."""
        case = copy.copy(self)
        case.states, case.head = self.states.bfloat16(), self.head.bfloat16()
        return case

    def product(self) -> None:
        """Compute the product with the LM head alone."""
        out = torch.empty(256, len(self.head), device=self.head.device, dtype=self.head.dtype)
        for chunk in self.states.split(256):
            torch.mm(chunk, self.head.T, out=out[: len(chunk)])

    def streamed(self, chunk: int | None = None) -> Tensor:
        """The statistics by the harness, (4, B, T)."""
        positions = torch.arange(self.ids.numel(), device=self.ids.device).view_as(self.ids)
        at_once = streaming.states_at_once if chunk is None else lambda head: chunk
        with mock.patch.object(streaming, "states_at_once", at_once):
            tokens = streaming.token_statistics(
                self.states, Head(self.head), positions, self.ids, group_size=GROUP, temperature=1.0
            )
        return tokens.values

    def naive(self) -> Tensor:
        """The statistics from all distributions at once, (4, B, T)."""
        return _of_logits((self.states @ self.head.T).float().view(*self.ids.shape, -1), self.ids)

    def by_position(self, dtype: torch.dtype, rounding: torch.dtype | None = None) -> Tensor:
        """The same computed in `dtype`, one position at a time, with logits rounded to `rounding`."""
        head = self.head.to(dtype)
        found = []
        for position in range(self.ids.size(1)):
            logits = self.states.view(*self.ids.shape, -1)[:, position : position + 1].to(dtype) @ head.T
            found.append(_of_logits(logits.to(rounding or dtype).to(dtype), self.ids[:, position : position + 1]))
        return torch.cat(found, -1)


def _of_logits(logits: Tensor, ids: Tensor) -> Tensor:
    log_probs = torch.log_softmax(logits, -1)
    groups = log_probs.exp().unflatten(0, (-1, GROUP))
    js = jensen_shannon(groups, groups.mean(1, keepdim=True)).flatten(0, 1)
    sampled = log_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return torch.stack([sampled, shannon_entropy(log_probs), renyi2_entropy(log_probs), js])


def methods(size: str) -> dict[str, tuple[str, Callable[[Case], Tensor]]]:
    """Label -> type of the inputs, and the function that computes the statistics."""
    found: dict[str, tuple[str, Callable[[Case], Tensor]]] = {"streamed": ("float32", Case.streamed)}
    if SIZES[size][1] > 10_000:
        found[f"streamed, {SMALL} states at a time"] = ("float32", partial(Case.streamed, chunk=SMALL))
        found["streamed, bfloat16"] = ("bfloat16", Case.streamed)
    return found | {"naive": ("float32", Case.naive)}


def seconds(work: Callable[[], object], device: str) -> float:
    """Wall seconds of one call."""
    started = time.perf_counter()
    work()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def memory(size: str, label: str, device: str) -> float:
    """Peak memory of a new process beyond what it had before, in MB."""
    command = [sys.executable, __file__, "--device", device, "--memory", size, label]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def own_memory(size: str, label: str, device: str) -> float:
    """The same for this process."""
    dtype, work = methods(size)[label]
    case = Case(size, device)
    case = case.rounded() if dtype == "bfloat16" else case
    small = copy.copy(case)
    small.head, small.ids = case.head[:4096], case.ids % 4096
    work(small)  # loads the libraries
    return report.peak(lambda: work(case), gpu=device != "cpu")[1] / 1e6


def speed(size: str, rounds: int, device: str) -> Iterator[dict[str, str]]:
    """One row per method."""
    case = Case(size, device)
    cases = {"float32": case, "bfloat16": case.rounded()}
    exact = {name: inputs.by_position(torch.float64) for name, inputs in cases.items()}
    times: dict[str, list[float]] = {"the product": [], **{label: [] for label in methods(size)}}
    errors: dict[str, Tensor] = {}
    for number in range(rounds + 1):  # the first round warms up and gives the errors
        taken = {"the product": seconds(case.product, device)}
        for label, (dtype, work) in methods(size).items():
            if number == 0:
                errors[label] = (work(cases[dtype]) - exact[dtype]).abs().flatten(1).amax(1)
            else:
                taken[label] = seconds(partial(work, cases[dtype]), device)
        for label, value in taken.items() if number else ():
            times[label].append(value)
    base = times["the product"]
    for label, values in times.items():
        ratio = statistics.median(value / one for value, one in zip(values, base, strict=True))
        row = {"head": size, "": label, "products": f"{ratio:.2f}", "ms": f"{1000 * statistics.median(values):,.0f}"}
        row["MB"] = f"{memory(size, label, device):,.0f}" if label in errors else ""
        yield row | {
            f"error {name}": f"{errors[label][i]:.0e}" if label in errors else "" for i, name in enumerate(NAMES)
        }
    print(f"mean H1 {exact['float32'][1].mean():.2f} nats, mean JS {exact['float32'][3].mean():.2f}", flush=True)


def same_tokens(size: str, positions: int, device: str) -> Iterator[dict[str, str]]:
    """One row per comparison."""
    case = Case(size, device, positions)
    half = case.rounded()
    exact, streamed, full = half.by_position(torch.float64), half.streamed(), case.streamed()
    rounded = half.by_position(torch.float32, torch.bfloat16)
    pairs = {
        "bfloat16, streamed": ("float64 of the same rounded inputs", streamed, exact),
        "bfloat16, rounded logits": ("float64 of the same rounded inputs", rounded, exact),
        "bfloat16, streamed ": ("float32 of the inputs before rounding", streamed, full),
        "bfloat16, rounded logits ": ("float32 of the inputs before rounding", rounded, full),
    }
    allowed = torch.ones_like(case.ids, dtype=torch.bool)
    for label, (against, found, expected) in pairs.items():
        row = {"": label.strip(), "against": against}
        for name, fraction in (("JS", Fraction(1, 10)), ("H1", Fraction(1, 5))):
            top, ref_top = (top_fraction(x[NAMES.index(name)].float(), allowed, fraction) for x in (found, expected))
            row[f"same top {fraction} by {name}"] = f"{(top == ref_top).all(-1).float().mean():.0%}"
            row[f"tokens in common, {name}"] = f"{(top & ref_top).sum() / ref_top.sum():.1%}"
        yield row


def main() -> None:
    """Print and keep both tables."""
    parser = report.parser(__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=[*SIZES], help="the last table is of the first")
    parser.add_argument("--positions", type=int, default=16, help="of a sequence in the last table")
    parser.add_argument("--memory", nargs=2, metavar=("SIZE", "METHOD"), help=argparse.SUPPRESS)
    options = report.parse(parser, rounds=1, sizes=["96 x 512"])
    torch.set_num_threads(1)
    with torch.no_grad():
        if options.memory:
            size, label = options.memory
            print(own_memory(size, label, options.device))
            return
        rows = [row for size in options.sizes for row in speed(size, options.rounds, options.device)]
        report.append(rows, quick=options.quick)
        report.append(list(same_tokens(options.sizes[0], options.positions, options.device)), quick=options.quick)


if __name__ == "__main__":
    main()
