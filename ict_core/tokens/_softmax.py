"""Distributions over a vocabulary, some states at a time, in tiles of it that stay in the processor's cache."""

import math

import torch
from torch import Tensor

_WIDTH = {"cpu": 1024}  # tokens of a tile, whose logits stay in the cache: wider ones are slower
_WIDE = 16384  # on a GPU, where every operation has a price of its own
_TINY = torch.finfo(torch.float32).tiny


class TiledSoftmax:
    """softmax(states @ head.T / temperature) of some states at a time, in memory that is used again.

    A tile of logits goes through all of a pass before the next one is made. What is kept are powers of two,
    2^(z log2(e) / temperature - m) with m the largest exponent of state and tile, and for each state and tile the
    factor that makes them probabilities; so nothing is read again to be normalised. Tiles are summed in float64, in
    their order: stored statistics depend on it to the last bit.

    Args:
        head: (V, D).
        most: the largest number of states at a time.
        dtype: of the factors of the product; it is summed, and all else computed, in float32.
    """

    def __init__(self, head: Tensor, most: int, temperature: float, dtype: torch.dtype) -> None:
        self.vocabulary = head.size(0)
        self._width = min(_WIDTH.get(head.device.type, _WIDE), self.vocabulary)
        self._heads = head.split(self._width)
        self._scale = math.log2(math.e) / temperature
        self._dtype, self._most = dtype, most
        self._scratch = torch.empty(2, most * self._width, device=head.device)
        self._casts: dict[torch.dtype, Tensor] = {}
        self._memory: Tensor | None = None
        self._powers: list[Tensor] = []
        self._factors = torch.empty(0)

    def read(self, states: Tensor, rows: Tensor, token_ids: Tensor, *, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """ln p of some tokens, (n,), and H1 and H2 of the states, (R,), in nats; float64.

        Args:
            states: (R, D).
            rows: (n,), a state's number for each token.
            token_ids: (n,).
            keep: whether the other methods are to be called for these states.
        """
        states = states.to(self._dtype)
        if not (states.is_cuda and self._dtype.itemsize == 2):  # the CPU would round the product of half precision
            states = states.float()
        # in the tiles' order, so that each tile's part of the tokens is one slice
        order = token_ids.argsort()
        rows, columns = rows[order], token_ids[order]
        tiles = columns // self._width
        widths = (self.vocabulary - tiles * self._width).clamp(max=self._width)
        cells = (rows * widths + columns % self._width).split(tiles.bincount(minlength=len(self._heads)).tolist())
        exponents = []
        sums = torch.empty(len(self._heads), 4, len(states), device=states.device)
        self._powers = self._kept(len(states)) if keep else []
        for number, (head, (largest, total, square, moment)) in enumerate(zip(self._heads, sums, strict=True)):
            z = self._part(0, len(states), len(head))
            self._product(states, head, z)
            torch.amax(z, -1, out=largest)
            z.sub_(largest.unsqueeze(-1))
            exponents.append(z.flatten()[cells[number]])
            # a power of two takes half the time of exp; the products below go where z was
            powers = torch.exp2(z, out=self._powers[number] if keep else self._part(1, len(states), len(head)))
            torch.sum(powers, -1, out=total)
            torch.linalg.vector_norm(powers, dim=-1, out=square)  # the sum of squares in one pass, without a copy
            torch.sum(z.mul_(powers), -1, out=moment)
        largest, total, square, moment = sums.double().unbind(1)
        shift = largest.amax(0)
        exponent = largest - shift - torch.log2((total * torch.exp2(largest - shift)).sum(0))
        factors = torch.exp2(exponent)
        self._factors = factors.float().unsqueeze(-1)
        h1 = -math.log(2) * (factors * (moment + exponent * total)).sum(0)
        h2 = -torch.log((factors * square).square().sum(0))
        log_probs = torch.empty_like(columns, dtype=torch.float64)
        log_probs[order] = math.log(2) * (torch.cat(exponents) + exponent[tiles, rows])
        return log_probs.clamp_(max=0.0), h1.clamp_(min=0.0), h2.clamp_(min=0.0)

    def jensen_shannon(self, weights: Tensor, h1: Tensor) -> Tensor:
        """JS of each distribution that was read last and the weighted mean of its pair's, (P, k), nats, float64.

        With t = p + q it is ln 2 - (sum t ln t + H1(p) + H1(q)) / 2: one logarithm a probability.

        Args:
            weights: (P, k) for the k states of each pair, in their order; they sum to 1 over them.
            h1: (P, k), their Shannon entropies.
        """
        sums = torch.empty(len(self._powers), *weights.shape, device=weights.device)
        sums_q = torch.empty(len(self._powers), len(weights), 1, device=weights.device)
        for number, (powers, factors) in enumerate(zip(self._powers, self._factors, strict=True)):
            t, log_t = (self._part(part, *powers.shape).unflatten(0, weights.shape) for part in (0, 1))
            powers, factors = powers.unflatten(0, weights.shape), factors.unflatten(0, weights.shape)
            # a weighted sum over rows is faster by bmm; _TINY keeps the logarithm of a 0 finite, and 0 times it 0
            q = torch.bmm((factors.squeeze(-1) * weights).unsqueeze(1), powers).add_(_TINY)
            torch.addcmul(q, powers, factors, out=t)
            torch.sum(torch.log2(t, out=log_t).mul_(t), -1, out=sums[number])
            torch.sum(q.log2().mul_(q), -1, out=sums_q[number])
        t_log_t, q_log_q = (math.log(2) * x.double().sum(0) for x in (sums, sums_q))
        return math.log(2) - (t_log_t + h1 - q_log_q) / 2

    def probabilities(self, some: slice) -> Tensor:
        """(R, V), of some of the states that were read last."""
        return torch.cat([p[some] * f[some] for p, f in zip(self._powers, self._factors, strict=True)], dim=-1)

    def _part(self, number: int, count: int, width: int) -> Tensor:
        return self._scratch[number, : count * width].view(count, width)

    def _kept(self, count: int) -> list[Tensor]:
        if self._memory is None:
            self._memory = torch.empty(self._most * self.vocabulary, device=self._scratch.device)
        return [tile.view(count, -1) for tile in self._memory[: count * self.vocabulary].split(count * self._width)]

    def _product(self, states: Tensor, head: Tensor, out: Tensor) -> None:
        head = self._cast(self._cast(head, self._dtype), states.dtype)
        if states.dtype == torch.float32:
            out.addmm_(states, head.T, beta=0, alpha=self._scale)
        else:
            torch.mm(states, head.T, out_dtype=torch.float32, out=out)
            out.mul_(self._scale)

    def _cast(self, head: Tensor, dtype: torch.dtype) -> Tensor:
        """In memory that is used again: tiles allocated one by one may never find the gap that the last one left."""
        if head.dtype == dtype:
            return head
        if dtype not in self._casts:
            self._casts[dtype] = torch.empty_like(self._heads[0], dtype=dtype)
        return self._casts[dtype][: len(head)].copy_(head)
