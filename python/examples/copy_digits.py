"""Trains a small model whose attention has T5's learned bias, from a package that mlc wrote:

    mlc attention specs/attention/t5.arith -o t5 --set attention.heads=4 --set attention.width=16
    PYTHONPATH=. python3 python/examples/copy_digits.py

The model reads digits and repeats them. On CUDA the kernels of the package run, elsewhere PyTorch's
operations. The last line says how many answers are right.
"""

import argparse

import torch
from torch import nn

import t5

HEADS, WIDTH = 4, 16  # of the package
DIGITS, SEPARATOR = 10, 10  # tokens 0 … 9, and the token between a text and its copy


class Block(nn.Module):
    """A layer: attention with the bias that all layers share, then two linear layers."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(units), nn.LayerNorm(units)])
        self.qkv = nn.Linear(units, 3 * units)
        self.out = nn.Linear(units, units)
        self.feed = nn.Sequential(nn.Linear(units, 4 * units), nn.GELU(), nn.Linear(4 * units, units))

    def forward(self, x: torch.Tensor, bias: t5.Bias) -> torch.Tensor:
        """[B, T, units] -> [B, T, units]"""
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, WIDTH)).unbind(2)
        x = x + self.out(t5.attention(q, k, v, bias, layout="bthd").flatten(2))
        return x + self.feed(self.norms[1](x))


class Model(nn.Module):
    """A decoder without positions other than T5's bias."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        units = HEADS * WIDTH
        self.bias = t5.Bias()
        self.embed = nn.Embedding(DIGITS + 1, units)
        self.blocks = nn.ModuleList(Block(units) for _ in range(layers))
        self.norm = nn.LayerNorm(units)
        self.head = nn.Linear(units, DIGITS + 1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Tokens [B, T] -> logits [B, T, DIGITS + 1]"""
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, self.bias)
        return self.head(self.norm(x))


def problems(count: int, length: int, device: torch.device) -> torch.Tensor:
    """Returns texts of random digits, each with its copy: [count, 2 length + 1]."""
    text = torch.randint(DIGITS, (count, length), device=device)
    return torch.cat((text, torch.full_like(text[:, :1], SEPARATOR), text), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--length", type=int, default=6)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(args.device)
    model = Model(layers=2).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(1, args.steps + 1):
        tokens = problems(64, args.length, device)
        logits = model(tokens[:, :-1])[:, args.length:]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, args.length + 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        tokens = problems(500, args.length, device)
        answers = model(tokens[:, :-1])[:, args.length:].argmax(-1)
        right = (answers == tokens[:, args.length + 1:]).all(1).float().mean()
    print(f"{100 * right.item():.1f} % of 500 answers are right")


if __name__ == "__main__":
    main()
