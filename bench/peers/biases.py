"""Evaluates attention biases and their gradients in PyTorch: the fixtures with which
compiler/biases_test.go compares the compiler's.

    pip install torch numpy
    python bench/peers/biases.py compiler/testdata/biases

Each of CASES names the definition of a bias as a spec has it, in the language's
prelude or in invented.arith in that folder, and says the same in Python: those of
papers as the papers write them, with their own loops over positions where they
have them. Everything is computed in float64 from learned values that float32 can
hold.

A fixture has, for each length, some cells of the bias table [H, I, J], the sum of
all cells times weights(h, i, j), and that sum's gradient.
"""

import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
import torch
from torch.nn.functional import linear

LENGTHS = 1, 7, 33, 100
SOME_CELLS = 20  # at least, of a table that has more

Params = dict[str, torch.Tensor]


@dataclass
class Grid:
    """The cells of a table: head, query and key, to be broadcast to [H, I, J]."""

    heads: int
    queries: int
    keys: int

    def __post_init__(self):
        self.h = torch.arange(self.heads)[:, None, None]
        self.i = torch.arange(self.queries)[None, :, None]
        self.j = torch.arange(self.keys)[None, None, :]
        self.distance = (self.i - self.j).abs()


def weights(g: Grid) -> torch.Tensor:
    """Different for all cells, and never negative, so that sums do not cancel."""
    return 1 + torch.cos(g.h + 0.3 * g.i - 0.7 * g.j)


def per_head(x: torch.Tensor) -> torch.Tensor:
    return x[:, None, None]


def below(p: Params, start: str) -> Params:
    return {name.removeprefix(start): x for name, x in p.items()}


def alibi(_: Params, g: Grid) -> torch.Tensor:
    """Press, Smith and Lewis 2022 (arXiv:2108.12409), section 3: slopes that start
    at 2^(-8/H), which is also their ratio."""
    slopes = torch.tensor([(2 ** (-8 / g.heads)) ** n for n in range(1, g.heads + 1)])
    return per_head(slopes) * (g.j - g.i)


def kerple(p: Params, g: Grid) -> torch.Tensor:
    """The logarithmic one of Chi et al. 2022 (arXiv:2205.09921), eq. 6."""
    return -per_head(p["kerple.r1"]) * torch.log(1 + per_head(p["kerple.r2"]) * g.distance)


def sandwich(_: Params, g: Grid) -> torch.Tensor:
    """Chi et al. 2023 (arXiv:2212.10356), section 5: the products of sinusoidal
    embeddings of 128 features, flattened by a ratio for each head. The largest is
    subtracted from all, which does not change softmax."""
    features = 128

    def embed(n):
        angle = torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(1, features // 2 + 1) / features)
        return torch.cat([angle.sin(), angle.cos()], -1)

    products = embed(g.queries) @ embed(g.keys).T - features / 2
    return products / per_head(torch.arange(1, g.heads + 1) * 8 / g.heads)


def t5_bucket(distance: int, buckets: int, furthest: int) -> int:
    """Raffel et al. 2020 (arXiv:1910.10683), section 2.1, with the buckets of its
    released decoder: one a distance for the first half, then logarithmic."""
    exact = buckets // 2
    if distance < exact:
        return max(distance, 0)
    ratio = math.log(distance / exact) / math.log(furthest / exact)
    return min(exact + int(ratio * (buckets - exact)), buckets - 1)


def t5(buckets: int, furthest: int) -> Callable[[Params, Grid], torch.Tensor]:
    def value(p: Params, g: Grid) -> torch.Tensor:
        of = torch.tensor([[t5_bucket(i - j, buckets, furthest) for j in range(g.keys)] for i in range(g.queries)])
        return p["t5.w"][:, of]

    return value


def t5_encoder(buckets: int, furthest: int) -> Callable[[Params, Grid], torch.Tensor]:
    """The released encoder has half of the buckets for keys behind the query."""
    def bucket(i: int, j: int) -> int:
        half = buckets // 2
        return t5_bucket(abs(i - j), half, furthest) + (half if j > i else 0)

    def value(p: Params, g: Grid) -> torch.Tensor:
        of = torch.tensor([[bucket(i, j) for j in range(g.keys)] for i in range(g.queries)])
        return p["t5_encoder.w"][:, of]

    return value


def rpe(clip: int) -> Callable[[Params, Grid], torch.Tensor]:
    """Shaw, Uszkoreit and Vaswani 2018 (arXiv:1803.02155), section 3.2: a table
    of 2 clip + 1 learned values by the clipped relative position. Here values are
    numbers, and the spec has them in reverse order."""
    def value(p: Params, g: Grid) -> torch.Tensor:
        return p["rpe.w"].flip(-1)[g.h, (g.j - g.i).clamp(-clip, clip) + clip]

    return value


def fire(threshold: float) -> Callable[[Params, Grid], torch.Tensor]:
    """Li et al. 2024 (arXiv:2310.04418), section 3: a network of the normalized
    logarithmic distance. The threshold is a number times a learned factor, as in
    the code of McLeish et al. 2024 (arXiv:2405.17399)."""
    def value(p: Params, g: Grid) -> torch.Tensor:
        p = below(p, "fire.")

        def psi(x):
            return torch.log((p["scale"] * x).abs() + 1)

        longest = torch.maximum(g.i, (threshold * p["reach"]).abs())
        z = psi(g.i - g.j) / (psi(longest) + 1e-6)
        hidden = torch.relu(linear(z[..., None], p["w1"][:, None], p["b1"]))  # [1, I, J, hidden]
        return linear(hidden, p["w2"], p["b2"])[0].permute(2, 0, 1)

    return value


def phase(p: Params, g: Grid) -> torch.Tensor:
    return -p["phase.slope"][g.h, g.i % 7] * g.distance


def gaussian(p: Params, g: Grid) -> torch.Tensor:
    off = (g.i - (g.keys - 2 - g.j)) - per_head(p["gaussian.center"])
    return -0.5 * (off / per_head(p["gaussian.width"])) ** 2


def near_late(p: Params, g: Grid) -> torch.Tensor:
    near = torch.exp(-per_head(p["near.rate"]) * g.distance)
    late = per_head(p["late.gain"]) * torch.tanh((g.j + 1) / g.queries - p["late.start"])
    return near * late


def knee(p: Params, g: Grid) -> torch.Tensor:
    far, steep = per_head(p["knee.far"]), per_head(p["knee.steep"])
    return -(steep * torch.minimum(g.distance, far) + p["knee.flat"] * torch.relu(g.distance - far))


def network(p: Params, g: Grid) -> torch.Tensor:
    p = below(p, "network.")
    signed = torch.sign(g.i - g.j) * torch.log1p(g.distance)
    late = ((g.i + 1) / g.queries).expand_as(signed)
    x = torch.relu(linear(torch.stack([signed, late], -1), p["w1"], p["b1"]))  # [1, I, J, 3]
    x = torch.tanh(linear(x, p["w2"], p["b2"]))
    return linear(x, p["w3"])[0].permute(2, 0, 1)


def soft(p: Params, g: Grid) -> torch.Tensor:
    return -torch.nn.functional.softplus(per_head(p["soft.rate"]) * (g.distance - per_head(p["soft.far"])), threshold=100)


@dataclass
class Case:
    use: str  # what the attribute bias of the site is in the spec
    value: Callable[[Params, Grid], torch.Tensor]
    site: str = "encoder.self"
    heads: int = 2
    params: dict[str, tuple[tuple[int, ...], float, float]] = field(default_factory=dict)  # shape, range


CASES = {
    "alibi": Case("alibi()", alibi, "decoder.self", 4),
    "kerple": Case("kerple()", kerple, "decoder.self", 4, {"kerple.r1": ((4,), 0.2, 2), "kerple.r2": ((4,), 0.2, 1)}),
    "sandwich": Case("sandwich()", sandwich, "decoder.self"),
    "t5": Case("t5(16, 64)", t5(16, 64), "decoder.self", params={"t5.w": ((2, 16), -1, 1)}),
    "rpe": Case("rpe(5)", rpe(5), params={"rpe.w": ((2, 11), -1, 1)}),
    "fire": Case("fire(hidden = 4, threshold = 20)", fire(20), "decoder.self", params={
        "fire.w1": ((4,), -1, 1), "fire.b1": ((4,), -1, 1), "fire.w2": ((2, 4), -1, 1), "fire.b2": ((2,), -1, 1),
        "fire.scale": ((), 0.1, 0.3), "fire.reach": ((), 0.8, 1.2)}),
    "phase": Case("phase", phase, params={"phase.slope": ((2, 7), -1, 1)}),
    "gaussian": Case("gaussian", gaussian, "decoder.cross", 4,
                     {"gaussian.center": ((4,), -2, 2), "gaussian.width": ((4,), 2, 8)}),
    "product": Case("near * late", near_late,
                    params={"near.rate": ((2,), 0.02, 0.2), "late.gain": ((2,), 0.5, 1.5), "late.start": ((), 0.2, 0.4)}),
    "knee": Case("knee", knee, "decoder.self",
                 params={"knee.far": ((2,), 2, 8), "knee.steep": ((2,), 0.2, 1), "knee.flat": ((), 0.02, 0.1)}),
    "network": Case("network", network, params={
        "network.w1": ((3, 2), -1, 1), "network.b1": ((3,), -1, 1), "network.w2": ((2, 3), -1, 1),
        "network.b2": ((2,), -1, 1), "network.w3": ((2, 2), -1, 1)}),
    "soft": Case("soft", soft, params={"soft.far": ((2,), 2, 8), "soft.rate": ((2,), 0.2, 1)}),
    "t5_encoder": Case("t5_encoder(16, 40)", t5_encoder(16, 40), params={"t5_encoder.w": ((2, 16), -1, 1)}),
}


def initial(case: Case, seed: int) -> Params:
    """Random values of three decimals, as float32 rounds them."""
    rng = np.random.default_rng(seed)

    def draw(shape, low, high):
        values = np.asarray(rng.uniform(low, high, shape)).round(3).astype(np.float32)
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)

    return {name: draw(*of) for name, of in case.params.items()}


def grid(case: Case, length: int) -> Grid:
    """The grid of a sequence with itself, or of an answer with a longer problem."""
    return Grid(case.heads, length, length + (3 if case.site.endswith("cross") else 0))


def at_length(case: Case, params: Params, length: int) -> dict:
    g = grid(case, length)
    table = case.value(params, g).expand(g.heads, g.queries, g.keys)
    if case.site == "decoder.self":
        table = torch.where(g.j <= g.i, table, 0)
    total = (table * weights(g)).sum()
    gradients = torch.autograd.grad(total, list(params.values())) if params else []
    step = max(table.numel() // SOME_CELLS, 1)
    while math.gcd(step, table.numel()) > 1:
        step += 1
    return {
        "queries": g.queries, "keys": g.keys, "sum": digits(total)[0],
        "step": step, "cells": digits(table.flatten()[::step]),
        "gradients": [digits(x) for x in gradients],
    }


def fixture(case: Case, seed: int) -> dict:
    params = initial(case, seed)
    return {
        "set": [f"model.heads = {case.heads}", f"model.{case.site}.bias = {case.use}"],
        "params": [{"name": name, "shape": list(x.shape), "values": digits(x)} for name, x in params.items()],
        "lengths": [at_length(case, params, n) for n in LENGTHS],
    }


def digits(x: torch.Tensor) -> list[float]:
    """Rounds to 9 digits, which determine a float32."""
    return [float(f"{e:.9g}") for e in x.detach().flatten().tolist()]


def text(value, depth: int = 2) -> str:
    """JSON with a line for each element of the outer levels."""
    if depth == 0 or not isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, list):
        return "[\n" + ",\n".join(text(e, depth - 1) for e in value) + "\n]"
    return "{\n" + ",\n".join(f'"{k}": {text(e, depth - 1)}' for k, e in value.items()) + "\n}"


def main() -> None:
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    folder = Path(sys.argv[1])
    for seed, (name, case) in enumerate(CASES.items()):
        (folder / f"{name}.json").write_text(text(fixture(case, seed)) + "\n")


if __name__ == "__main__":
    main()
