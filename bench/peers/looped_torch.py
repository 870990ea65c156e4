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

    def attend(self, qkv: torch.Tensor, starts: torch.Tensor | None) -> torch.Tensor:
        """[B, T, 3, H, D / H] -> [B, T, H, D / H]"""
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    def forward(self, x: torch.Tensor, starts: torch.Tensor | None) -> torch.Tensor:
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        return self.norm(x + self.o(self.attend(qkv, starts).flatten(-2)))


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
    def __init__(self, m: Model, attention: nn.Module):
        super().__init__()
        self.add_module("self", attention)
        self.ffn = GEGLU(m, True)

    def forward(self, x: torch.Tensor, embedded: torch.Tensor, starts: torch.Tensor | None) -> torch.Tensor:
        return self.ffn(getattr(self, "self")(x + embedded, starts))


class Looped(nn.Module):
    """McLeish et al. 2024 (arXiv:2405.17399), as their released code makes it: input
    injection before every layer, norms behind, Abacus embeddings, progressive loss. One
    offset and one number of recurrences are drawn for each step."""

    attention = Attention

    def __init__(self, m: Model):
        super().__init__()
        self.settings, self.noise = m.loop, m.loop.noise
        self.embed = nn.ModuleDict({"token": nn.Embedding(m.vocab, m.width), "position": nn.Embedding(m.loop.table, m.width),
                                    "norm": nn.LayerNorm(m.width, m.loop.norm_eps)})
        self.loop = nn.ModuleList(Layer(m, self.attention(m)) for _ in range(m.loop.layers))
        self.head = nn.ModuleDict({"ffn": GEGLU(m, False), "norm": nn.LayerNorm(m.width, m.loop.norm_eps),
                                   "adapter": nn.Linear(m.width, m.width, bias=False), "out": nn.Linear(m.width, m.vocab, bias=False)})
        self.draws = random.Random(0)

    @staticmethod
    def inputs(b: models.Batch) -> tuple[np.ndarray, ...]:
        return b.target, models.abacus_rows(b.target), b.labels

    def compile(self, **how) -> None:
        """Layer by layer, as the authors do: the number of recurrences differs from step to step."""
        for part in [*self.loop, self.head["ffn"]]:
            part.compile(**how)

    def draw(self) -> tuple[int, ...]:
        """An offset and passes."""
        return self.draws.randint(0, self.settings.max_offset), *self.passes()

    def passes(self) -> tuple[int, int]:
        """Recurrences without gradients and with."""
        most, times = self.settings.with_grad, self.settings.times
        if not most:
            return 0, times
        with_grad = self.draws.randint(1, most)
        return self.draws.randint(0, times - with_grad), with_grad

    def recurrence(self, x: torch.Tensor, embedded: torch.Tensor, starts: torch.Tensor | None) -> torch.Tensor:
        for layer in self.loop:
            x = layer(x, embedded, starts)
        return x

    def forward(self, tokens: torch.Tensor, rows: torch.Tensor, labels: torch.Tensor, offset: int | torch.Tensor, without: int,
                with_grad: int, starts: torch.Tensor | None = None) -> torch.Tensor:
        """Tokens, rows and labels are [B, T], or, with starts of examples, [R]."""
        rows = rows + (rows > 0) * offset
        embedded = self.embed["norm"](self.embed["token"](tokens) + self.embed["position"](rows))
        x = torch.randn_like(embedded) * self.noise
        with torch.no_grad():
            for _ in range(without):
                x = self.recurrence(x, embedded, starts)
        for _ in range(with_grad):
            x = self.recurrence(x, embedded, starts)
        logits = self.head["out"](self.head["adapter"](self.head["norm"](self.head["ffn"](x))))
        return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=-1)
