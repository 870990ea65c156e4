"""Trains a small model whose attention has a bias that Python computes, through a package that mlc wrote:

    mlc attention specs/attention/given.arith -o pairs --set attention.heads=4 --set attention.width=16
    PYTHONPATH=. python3 python/examples/pair_bias.py

The model learns a step of Conway's Game of Life on a torus. Cells are tokens without positions. Only
the bias of a pair of cells, an embedding of their distances along both axes, says where they are. On
CUDA the kernels of the package run, elsewhere PyTorch's operations. The last line says how many cells
are right.
"""

import argparse

import torch
from torch import nn

import pairs

HEADS, WIDTH = 4, 16  # of the package


class PairBias(nn.Module):
    """A learned number for each head and each distance of two cells: [HEADS, T, T] for T cells."""

    def __init__(self, side: int) -> None:
        super().__init__()
        cell = torch.arange(side * side)
        row, column = cell // side, cell % side

        def distance(x: torch.Tensor) -> torch.Tensor:
            apart = (x[:, None] - x).abs()
            return torch.minimum(apart, side - apart)

        count = side // 2 + 1  # of distances along an axis
        self.register_buffer("kind", distance(row) * count + distance(column), persistent=False)
        self.embed = nn.Embedding(count * count, HEADS)

    def forward(self) -> torch.Tensor:
        return self.embed(self.kind).permute(2, 0, 1)


class Model(nn.Module):
    """A layer: attention with the pair bias, then two linear layers."""

    def __init__(self, side: int) -> None:
        super().__init__()
        units = HEADS * WIDTH
        self.bias = PairBias(side)
        self.embed = nn.Embedding(2, units)
        self.qkv = nn.Linear(units, 3 * units)
        self.out = nn.Linear(units, units)
        self.feed = nn.Sequential(nn.Linear(units, 4 * units), nn.GELU(), nn.Linear(4 * units, 1))

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        """Cells [B, T], 1 if alive -> logits [B, T] that they live in the next step"""
        x = self.embed(cells)
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, WIDTH)).unbind(2)
        x = x + self.out(pairs.attention(q, k, v, self.bias(), layout="bthd").flatten(2))
        return self.feed(x).squeeze(-1)


def problems(count: int, side: int, device: torch.device) -> "tuple[torch.Tensor, torch.Tensor]":
    """Returns random grids [count, T] and the next step of each."""
    alive = (torch.rand(count, side, side, device=device) < 0.35).long()
    shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    around = torch.stack([alive.roll(shift, (1, 2)) for shift in shifts]).sum(0)
    following = (around == 3) | (alive == 1) & (around == 2)
    return alive.flatten(1), following.flatten(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--side", type=int, default=8)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(args.device)
    model = Model(args.side).to(device)
    others = [p for name, p in model.named_parameters() if not name.startswith("bias.")]
    optimizer = torch.optim.Adam([{"params": model.bias.parameters(), "lr": 0.1}, {"params": others, "lr": 3e-3}])
    for step in range(1, args.steps + 1):
        cells, following = problems(32, args.side, device)
        loss = nn.functional.binary_cross_entropy_with_logits(model(cells), following.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        cells, following = problems(200, args.side, device)
        right = ((model(cells) > 0) == following).float().mean()
    print(f"{100 * right.item():.2f} % of {following.numel()} cells are right")


if __name__ == "__main__":
    main()
