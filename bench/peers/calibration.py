"""Attention bias calibration (Duan, Shi and Xu, "Attention Bias as an Inductive Bias",
arXiv:2310.11984, section 4, appendices D and F) once more, to compare
package calibrate with: as matrices, by walks from cell to cell.

    pip install numpy
    python bench/peers/calibration.py make runtime/calibrate/testdata/peers.json RUN/CALIBRATION
    python bench/peers/calibration.py check RUN/CALIBRATION

The first writes cases of random attention and of that which a calibration of a trained
model has read. The second does a finished calibration of a run again, with the
thresholds of the paper, and says whether it finds the same biases.

Where the paper and its released code differ this follows the code: lines of the first
rows, by their own value, of which mean and deviation are taken; no difference to the
largest. But deviations are over all lines, not over the set of their values, columns
count in full, and a head without lines is open, in cross attention too, all as in the
paper. Closed cells, weights of 0 or logits of -inf, are in no line.
"""

import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

CLOSED = -1e4
MARGIN = 1e-9  # of values to thresholds, which rounding may move
KAPPA = {"self": 0.87, "cross": 4.5}

Cell = tuple[int, int]


@dataclass
class Options:
    directions: list[list[int]]
    rows: int  # first rows that count
    extended: list[int]  # rows and columns
    kappa: float  # deviations above the mean
    least: float = -1e9  # what a line must have, too
    mean: bool = False  # rather than sums
    logits: bool = False
    less: bool = False  # the largest value along a direction is subtracted


def walk(start: Cell, d: list[int], rows: int, columns: int) -> list[Cell]:
    """The cells from start on that are in a matrix."""
    (i, j), cells = start, []
    while 0 <= i < rows and 0 <= j < columns:
        cells.append((i, j))
        i, j = i + d[0], j + d[1]
    return cells


def lines_of(d: list[int], rows: int, columns: int) -> list[list[Cell]]:
    """All lines, each from its first cell."""
    def inside(i, j):
        return 0 <= i < rows and 0 <= j < columns

    return [walk((i, j), d, rows, columns) for i in range(rows) for j in range(columns) if not inside(i - d[0], j - d[1])]


def extend(line: list[Cell], d: list[int], columns: int, o: Options) -> list[Cell]:
    """The cells of the larger matrix that a line runs through. Those of positive slope
    are aligned at the top left, all others at the top right."""
    rows, width = o.extended
    i, j = line[0]
    if d[0] * d[1] <= 0:
        j += width - columns
    far = rows + width + columns + len(line)
    steps = ((i + k * d[0], j + k * d[1]) for k in range(-far, far + 1))
    return [(r, c) for r, c in steps if 0 <= r < rows and 0 <= c < width]


def calibrate_head(a: np.ndarray, o: Options) -> tuple[np.ndarray, list[dict]]:
    """[m, n] attention -> [M, N] bias, and the result along each direction."""
    counted = a[:o.rows]
    seen = np.isfinite(counted) if o.logits else counted != 0
    biases, found = [], []
    for d in o.directions:
        cells = [[c for c in line if seen[c]] for line in lines_of(d, *counted.shape)]
        cells = [line for line in cells if line]
        values = np.array([sum(counted[c] for c in line) / (len(line) if o.mean else 1) for line in cells])
        mean, std = values.mean(), values.std()
        threshold = max(mean + o.kappa * std, o.least)
        if std > 0 and (abs(values - threshold) < MARGIN).any():
            raise SystemExit(f"a line is at the threshold of {o}")
        bias = np.full(o.extended, -np.inf)
        for line, value in zip(cells, values):
            for c in extend(line, d, a.shape[1], o) if value >= threshold else []:
                bias[c] = value - (values.max() if o.less else 0)
        biases.append(bias)
        found.append({"mean": digits(mean), "std": digits(std), "lines": len(values), "kept": int((values >= threshold).sum())})
    largest = np.max(biases, 0)
    if np.isneginf(largest).all():
        return np.zeros(o.extended), found
    return np.where(np.isneginf(largest), CLOSED, largest), found


def case(name: str, o: Options, of: str, attention: np.ndarray) -> dict:
    heads = []
    for a in attention:
        bias, found = calibrate_head(a, o)
        cells = [[int(i), int(j), digits(bias[i, j])] for i, j in zip(*np.nonzero(bias > CLOSED))]
        transparent = not bias.any()
        heads.append({"transparent": transparent, "directions": found, "cells": [] if transparent else cells})
    return {"name": name, "of": of, "options": asdict(o), "heads": heads}


def digits(x: float) -> float:
    """Rounds to 9 digits, more than float32 has."""
    return float(f"{x:.9g}")


DIRECTIONS = [[1, 1], [1, -1], [1, 0], [2, 1], [1, 2], [2, -1], [1, -2], [3, -2]]
STEP = 1 / 1024  # values are multiples, so that sums are exact


def random_case(n: int) -> tuple[np.ndarray, Options]:
    """Attention of two heads, and options; every combination occurs for some n."""
    rng = np.random.default_rng(n)
    rows, columns = (int(x) for x in rng.integers(2, 8, 2))
    causal, logits = n % 3 == 0, n % 4 == 1
    a = rng.integers(-999 if logits else 1, 1000, (2, rows, columns)) * STEP
    if causal:
        later = ~np.tri(rows, columns, dtype=bool)
        a[:, later] = -np.inf if logits else 0
    picked = rng.choice(len(DIRECTIONS), int(rng.integers(1, 4)), replace=False)
    larger = [int(x) for x in (rows, columns) + rng.integers(-2 if n % 7 == 0 else 0, 5, 2)]
    return a, Options([DIRECTIONS[k] for k in picked], int(rng.integers(1, rows + 2)), [max(x, 1) for x in larger],
                      float(rng.choice([-1e9, 0.3, 0.9, 1.4, 1e9], p=[0.1, 0.3, 0.3, 0.2, 0.1])),
                      float(rng.choice([-1e9, 0.3003])), n % 2 == 1, logits)


def tensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file."""
    data = path.read_bytes()
    body = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:body])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[body + e["data_offsets"][0]:body + e["data_offsets"][1]], np.float32)
            .reshape(e["shape"]).astype(np.float64) for name, e in header.items()}


def trained_cases(folder: Path) -> tuple[dict[str, np.ndarray], list[dict]]:
    """Calibrations of a trained model's attention, rounded to multiples of STEP."""
    attention = {site: np.where(a > 0, np.maximum(np.round(a / STEP), 1) * STEP, 0)
                 for site, a in tensors(folder / "attention.safetensors").items()}
    own, cross = attention["self"], attention["cross"]
    longer = [own.shape[1] + 3, cross.shape[2] + 3]
    options = {
        "self, as in the code": ("self", Options([[1, 1]], 6, [longer[0], longer[0]], 0.87)),
        "self, as in the paper": ("self", Options([[1, 1]], own.shape[1], [longer[0], longer[0]], 0.87, mean=True)),
        "self, all directions": ("self", Options([[1, 1], [1, -1], [1, 0]], 6, [longer[0], longer[0]], 2)),
        "cross, as in the code": ("cross", Options([[1, -1]], 6, longer, 4.5)),
        "cross, as in the paper": ("cross", Options([[1, -1], [1, 0], [1, 1]], cross.shape[1], longer, 4.5, mean=True)),
        "cross, low thresholds": ("cross", Options([[1, -1], [1, 0]], 6, longer, 2)),
        "cross, of logits": ("cross", Options([[1, -1]], 6, longer, 1.5, mean=True, logits=True)),
    }
    attention["cross logits"] = np.where(cross > 0, np.round(np.log(np.maximum(cross, STEP)) / STEP) * STEP, -np.inf)
    return attention, [case(name, o, "cross logits" if o.logits else of, attention["cross logits" if o.logits else of])
                       for name, (of, o) in options.items()]


def packed(a: np.ndarray) -> dict:
    """Multiples of STEP, null in closed cells."""
    values = [int(x) if math.isfinite(x) else None for x in (a / STEP).flatten()]
    return {"shape": list(a.shape), "values": values}


def make(path: Path, run: Path) -> None:
    attention, cases = trained_cases(run)
    for n in range(40):
        name = f"random {n}"
        attention[name], o = random_case(n)
        cases.append(case(name, o, name, attention[name]))

    def rows(elements):
        return ",\n".join(elements)

    text = [f'{json.dumps(name)}:{json.dumps(packed(a), separators=(",", ":"))}' for name, a in attention.items()]
    path.write_text(f'{{"step":{STEP},"attention":{{\n{rows(text)}\n}},"cases":[\n'
                    f'{rows(json.dumps(c, separators=(",", ":")) for c in cases)}\n]}}\n')


def check(run: Path) -> None:
    report = json.loads((run / "calibration.json").read_text())
    attention, lines = (tensors(run / f"{name}.safetensors") for name in ("attention", "lines"))
    for site, a in attention.items():
        r = report[site]
        directions = [f["direction"] for f in r["heads"][0]["directions"]]
        o = Options(directions, r["counted"], r["extended"], KAPPA[site], mean=report["reduce"] == "mean", logits=report["of"] == "logits")
        off = max(abs(calibrate_head(head, o)[0] - want).max() for head, want in zip(a, lines[site]))
        print(f"{site}: {len(a)} heads, {r['extended'][0]} by {r['extended'][1]} cells, {off:.2g} off")


def main() -> None:
    verb, *paths = sys.argv[1:]
    {"make": make, "check": check}[verb](*map(Path, paths))


if __name__ == "__main__":
    main()
