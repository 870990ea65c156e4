"""The biases of specs/attention in PyTorch, as its users write them for FlexAttention and for a mask.

Both forms take the parameters by name, then head, query and key: numbers in score, which
FlexAttention calls for a cell, and tensors that broadcast to [H, T, S] in table.
"""

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict

import torch
from torch import Tensor

Parameters = Dict[str, Any]
Form = Callable[[Parameters, Tensor, Tensor, Tensor], Tensor]


@dataclass
class Bias:
    score: Form
    table: Form
    #: Constants next to the parameters, made once.
    constants: Callable[[int, int], Parameters] = lambda heads, length: {}
    #: What scores are multiplied with, by the width of a head.
    scale: Callable[[int], float] = lambda width: width**-0.5
    #: Parameters that score takes as a list of tensors, one for each element of the last dimension:
    #: FlexAttention has no gradient of a tensor that a score indexes twice.
    units: tuple = ()


def alibi(p: Parameters, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return -p["slopes"][h] * (i - j).abs()


def slopes(heads: int, length: int) -> Parameters:
    return {"slopes": torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)])}


def kerple(p: Parameters, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return -p["r1"][h] * torch.log(1 + p["r2"][h] * (i - j).abs())


def t5(p: Parameters, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return p["w"][h, p["buckets"][(i - j).clamp(min=0)]]


def buckets(heads: int, length: int) -> Parameters:
    """The bucket of each distance: 16 exact ones, then 16 that grow up to 128."""
    exact, furthest, count = 16, 128, 32

    def bucket(distance: int) -> int:
        if distance < exact:
            return distance
        far = math.log(distance / exact) / math.log(furthest / exact) * (count - exact)
        return min(exact + int(far), count - 1)

    return {"buckets": torch.tensor([bucket(n) for n in range(length)])}


def nearness(scale: Tensor, reach: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The input of FIRE's network."""
    longest = torch.maximum(i.float(), (512 * reach).abs())
    return (scale * (i - j)).abs().log1p() / ((scale * longest).abs().log1p() + 1e-6)


def fire_score(p: Parameters, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    only = h * 0  # FlexAttention has gradients of what a tensor indexes
    z = nearness(p["scale"][only], p["reach"][only], i, j)
    total = p["b2"][h]
    for w1, b1, w2 in zip(p["w1"], p["b1"], p["w2"]):
        total = total + w2[h] * torch.relu(w1[only] * z + b1[only])
    return total


def fire_table(p: Parameters, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    z = nearness(p["scale"], p["reach"], i, j)[0, :, :, None]
    return (torch.relu(z * p["w1"] + p["b1"]) @ p["w2"].T + p["b2"]).permute(2, 0, 1)


#: By the name of the spec, the most important first.
BIASES = {
    "kerple": Bias(kerple, kerple),
    "t5": Bias(t5, t5, constants=buckets, scale=lambda width: 1.0),
    "alibi": Bias(alibi, alibi, constants=slopes),
    "fire": Bias(fire_score, fire_table, units=("w1", "b1", "w2")),
}
