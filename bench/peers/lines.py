"""Calibrated biases: lines of attention matrices, extended to longer problems (Duan,
Shi and Xu, "Attention Bias as an Inductive Bias", arXiv:2310.11984, appendix D).

A line along direction (a, b) has its cells a rows down and b columns to the right of
one another. All of them have the same a j - b i, which is the line's number.
"""

from dataclasses import dataclass

import torch

CLOSED = -1e4

Direction = tuple[int, int]


def number(d: Direction, i: int, j: int) -> int:
    return d[0] * j - d[1] * i


def shift(d: Direction, columns: int) -> int:
    """How far cells move to the right in a matrix of more columns: lines of positive
    slope stay at the left, all others at the right (section 4a of the algorithm)."""
    return 0 if d[1] > 0 else columns


@dataclass
class Lines:
    """The values of the lines by number that each head keeps along each direction, in a
    matrix [rows, columns]."""

    rows: int
    columns: int
    heads: dict[Direction, list[dict[int, float]]]

    def transparent(self, h: int) -> bool:
        return not any(heads[h] for heads in self.heads.values())

    @property
    def count(self) -> int:
        return len(next(iter(self.heads.values())))

    def cell(self, h: int, i: int, j: int, columns: int) -> float:
        """Of a matrix of so many columns."""
        if self.transparent(h):
            return 0.0
        return max(heads[h].get(number(d, i, j + shift(d, self.columns - columns)), CLOSED)
                   for d, heads in self.heads.items())

    def bias(self, rows: int, columns: int) -> torch.Tensor:
        """[H, rows, columns]"""
        return torch.tensor([[[self.cell(h, i, j, columns) for j in range(columns)] for i in range(rows)]
                             for h in range(self.count)], dtype=torch.float64)

    def param(self, d: Direction) -> torch.Tensor:
        """[H, L + 2]: of all lines of the matrix along a direction the values by ascending
        number, between two elements for what is on none of them."""
        numbers = sorted({number(d, i, j) for i in range(self.rows) for j in range(self.columns)})

        def head(h):
            outside = 0.0 if self.transparent(h) else CLOSED
            return [outside] + [self.heads[d][h].get(n, outside) for n in numbers] + [outside]

        return torch.tensor([head(h) for h in range(self.count)], dtype=torch.float64)
