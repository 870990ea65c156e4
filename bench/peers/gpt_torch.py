"""nanoGPT's model of a text in PyTorch, eager or compiled: layers with norms before their
parts, GELU, learned positions, and an output that is the transposed token table."""

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
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.o(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, m: Model):
        super().__init__()
        self.add_module("in", nn.Linear(m.width, m.hidden, bias=False))
        self.out = nn.Linear(m.hidden, m.width, bias=False)
        self.norm = nn.LayerNorm(m.width, m.loop.norm_eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.out(F.gelu(getattr(self, "in")(self.norm(x))))


class GPT(nn.Module):
    def __init__(self, m: Model):
        super().__init__()
        self.shared = nn.ModuleDict({"token": nn.Embedding(m.vocab, m.width)})
        self.embed = nn.ModuleDict({"position": nn.Embedding(m.loop.table, m.width)})
        self.loop = nn.ModuleList(nn.ModuleDict({"self": Attention(m), "ffn": FeedForward(m)}) for _ in range(m.loop.layers))
        self.head = nn.ModuleDict({"norm": nn.LayerNorm(m.width, m.loop.norm_eps)})

    @staticmethod
    def inputs(b: models.Batch) -> tuple[np.ndarray, ...]:
        return b.target, b.labels

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.shared["token"](tokens) + self.embed["position"](places)
        for layer in self.loop:
            x = layer["ffn"](layer["self"](x))
        logits = F.linear(self.head["norm"](x), self.shared["token"].weight)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1)

    def draw(self) -> tuple[int, ...]:
        return ()
