"""The looped models in PyTorch, eager or compiled."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import models
from models import Model


class Attention(nn.Module):
    def __init__(self, m: Model):
        super().__init__()
        self.heads = m.heads
        self.qkv, self.o = nn.Linear(m.width, 3 * m.width, bias=False), nn.Linear(m.width, m.width, bias=False)
        self.norm = nn.LayerNorm(m.width, m.loop.norm_eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.norm(x + self.o(y.transpose(1, 2).flatten(2)))


class GEGLU(nn.Module):
    """With a norm it is a residual sub-layer."""

    def __init__(self, m: Model, norm: bool):
        super().__init__()
        self.gated, self.out = nn.Linear(m.width, m.hidden, bias=False), nn.Linear(m.hidden // 2, m.width, bias=False)
        self.norm = nn.LayerNorm(m.width, m.loop.norm_eps) if norm else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        u, g = self.gated(x).chunk(2, -1)
        y = self.out(u * F.gelu(g))
        return y if self.norm is None else self.norm(x + y)


class Layer(nn.Module):
    def __init__(self, m: Model):
        super().__init__()
        self.add_module("self", Attention(m))
        self.ffn = GEGLU(m, True)

    def forward(self, x: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        return self.ffn(getattr(self, "self")(x + embedded))


class Looped(nn.Module):
    """McLeish et al. 2024 (arXiv:2405.17399), as their released code makes it: input
    injection before every layer, norms behind, Abacus embeddings, progressive loss. One
    offset and one number of recurrences are drawn for each step."""

    def __init__(self, m: Model):
        super().__init__()
        self.settings = m.loop
        self.embed = nn.ModuleDict({"token": nn.Embedding(m.vocab, m.width), "position": nn.Embedding(m.loop.table, m.width),
                                    "norm": nn.LayerNorm(m.width, m.loop.norm_eps)})
        self.loop = nn.ModuleList(Layer(m) for _ in range(m.loop.layers))
        self.head = nn.ModuleDict({"ffn": GEGLU(m, False), "norm": nn.LayerNorm(m.width, m.loop.norm_eps),
                                   "adapter": nn.Linear(m.width, m.width, bias=False), "out": nn.Linear(m.width, m.vocab, bias=False)})
        self.draws = random.Random(0)

    @staticmethod
    def inputs(b: models.Batch) -> tuple[np.ndarray, ...]:
        return b.target, models.abacus_rows(b.target), b.labels

    def compile(self) -> None:
        """Layer by layer, as the authors do: the number of recurrences differs from step to step."""
        for part in [*self.loop, self.head["ffn"]]:
            part.compile()

    def passes(self) -> tuple[int, int]:
        """Recurrences without gradients and with."""
        most, times = self.settings.with_grad, self.settings.times
        if not most:
            return 0, times
        with_grad = self.draws.randint(1, most)
        return self.draws.randint(0, times - with_grad), with_grad

    def recurrence(self, x: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        for layer in self.loop:
            x = layer(x, embedded)
        return x

    def forward(self, tokens: torch.Tensor, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        rows = torch.where(rows > 0, rows + self.draws.randint(0, self.settings.max_offset), 0)
        embedded = self.embed["norm"](self.embed["token"](tokens) + self.embed["position"](rows))
        x = torch.randn_like(embedded) * self.settings.noise
        without, with_grad = self.passes()
        with torch.no_grad():
            for _ in range(without):
                x = self.recurrence(x, embedded)
        for _ in range(with_grad):
            x = self.recurrence(x, embedded)
        logits = self.head["out"](self.head["adapter"](self.head["norm"](self.head["ffn"](x))))
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1)
