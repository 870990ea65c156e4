"""The models of the bench's cases, as far as PyTorch and JAX share them: settings
from a problem file, masks, positions, parameters and checkpoints.

A problem file is JSON that the bench writes: the settings of a resolved spec, the
names and shapes of the compiled program's parameters, and batches of tokens.

Parameters are named and laid out as in checkpoints, matrices [in, out]. The peers
hold them packed: projections of the same input are one matrix, as their users
write it.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np

Arrays = dict[str, np.ndarray]

FIRE_HIDDEN, FIRE_THRESHOLD, FIRE_SCALE = 32, 512, 0.1

# Packed tensors of a layer, and their parts.
PACKS = {"self.qkv": ("self.q", "self.k", "self.v"), "cross.kv": ("cross.k", "cross.v"), "ffn.gated": ("ffn.in.u", "ffn.in.g")}

FIRST_DIGIT = 4  # of the tokens of sequences


def causal(i, j):
    return j <= i


def window(i, j):
    return (j <= i) & (i - j <= 1)


def successor_cross(i, j, keys):
    return (0 <= keys - 1 - i - j) & (keys - 1 - i - j <= 1)


def addition_cross(i, j, keys):
    """Two tokens a place, and one place to either side."""
    last = keys - 2 - 2 * i
    return (last - 2 <= j) & (j <= last + 1)


@dataclass
class Kind:
    """What only the specs say in words of their own: masks, positions, bias."""

    self_mask: Callable
    cross_mask: Callable | None  # None: open
    period: int  # of the positions; 0: none
    fire: bool
    gpt: bool = False


KINDS = {
    "abs": Kind(window, addition_cross, 3, False),
    "successor": Kind(window, successor_cross, 3, False),
    "fire": Kind(causal, None, 0, True),
    "looped": Kind(causal, None, 0, False),
    "gpt": Kind(causal, None, 0, False, True),
}


@dataclass
class Loop:
    """What a looped model has (McLeish et al. 2024, arXiv:2405.17399)."""

    layers: int
    times: int
    with_grad: int  # recurrences with gradients, behind a random number without; 0: all have them
    noise: float  # standard deviation of what the loop starts from
    max_offset: int  # of Abacus embeddings: one random offset a step
    table: int  # rows of these
    norm_eps: float


@dataclass
class Batch:
    source: np.ndarray  # [B, S] tokens
    target: np.ndarray  # [B, T]
    labels: np.ndarray  # [B, T]


@dataclass
class Model:
    kind: Kind
    width: int
    heads: int
    hidden: int
    layers: int
    vocab: int
    dropout: float
    adam: dict[str, float]  # lr, beta1, beta2, eps; decay of matrices and tables, and largest norm of a gradient, or 0
    batches: list[Batch]
    loop: Loop | None  # None: an encoder and a decoder

    @property
    def rows(self) -> int:
        return self.batches[0].target.shape[1]

    @property
    def keys(self) -> int:
        return self.batches[0].source.shape[1]

    def masks(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Of self attention [T, T] and of cross attention [T, S]: true where open."""
        i = np.arange(self.rows)[:, None]
        own = self.kind.self_mask(i, np.arange(self.rows))
        if self.kind.cross_mask is None:
            return own, None
        return own, self.kind.cross_mask(i, np.arange(self.keys), self.keys)

    def positions(self, n: int) -> np.ndarray:
        """Sinusoidal [n, width] (Vaswani et al. 2017, section 3.5)."""
        p = np.arange(n)
        if self.kind.period:
            p = p % self.kind.period
        angle = p[:, None] * 10000.0 ** (-np.arange(0, self.width, 2) / self.width)
        return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(n, self.width).astype(np.float32)

    def fire_inputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Distance [T, T] and query position [T, 1]; what is closed has distance 0."""
        i = np.arange(self.rows)[:, None]
        return np.maximum(i - np.arange(self.rows), 0).astype(np.float32), i.astype(np.float32)


def read(path: str) -> Model:
    """The model of a problem file, whose parameters must be those of the program."""
    text = json.loads(Path(path).read_text())
    batches = [Batch(*(np.array(b[k] or [], np.int32) for k in ("source", "target", "labels"))) for b in text["batches"]]
    names = ("width", "heads", "hidden", "layers", "vocab", "dropout", "adam")
    loop = Loop(**text["loop"]) if "loop" in text else None
    model = Model(KINDS[text["kind"]], batches=batches, loop=loop, **{name: text[name] for name in names})
    theirs = {name: tuple(shape) for name, shape in text["tensors"].items()}
    if theirs != shapes(model):
        different = sorted(theirs.items() ^ shapes(model).items())
        raise SystemExit(f"the compiled program has other parameters: {different}")
    return model


def abacus_rows(tokens: np.ndarray) -> np.ndarray:
    """[B, T] tokens -> [B, T] rows: the place of a digit in its number, from 1 on, and 0
    for tokens that are not digits."""
    rows = np.zeros_like(tokens)
    is_digit = (FIRST_DIGIT <= tokens) & (tokens < FIRST_DIGIT + 10)
    place = np.zeros(len(tokens), tokens.dtype)
    for t in range(tokens.shape[1]):
        place = np.where(is_digit[:, t], place + 1, 0)
        rows[:, t] = place
    return rows


def looped_shapes(m: Model) -> dict[str, tuple[int, ...]]:
    w, half = m.width, m.hidden // 2
    norm = {"norm.gamma": (w,), "norm.beta": (w,)}
    ffn = {"ffn.in.u.w": (w, half), "ffn.in.g.w": (w, half), "ffn.out.w": (half, w)}
    layer = {f"self.{part}.w": (w, w) for part in "qkvo"} | {f"self.{name}": s for name, s in norm.items()}
    layer |= ffn | {f"ffn.{name}": s for name, s in norm.items()}
    every = {"embed.token": (m.vocab, w), "embed.position": (m.loop.table, w)} | {f"embed.{name}": s for name, s in norm.items()}
    every |= {f"loop.{l}.{name}": s for l in range(m.loop.layers) for name, s in layer.items()}
    head = ffn | norm | {"adapter.w": (w, w), "out.w": (w, m.vocab)}
    return every | {f"head.{name}": s for name, s in head.items()}


def gpt_shapes(m: Model) -> dict[str, tuple[int, ...]]:
    w = m.width
    norm = {"norm.gamma": (w,), "norm.beta": (w,)}
    layer = {f"self.{part}.w": (w, w) for part in "qkvo"} | {"ffn.in.w": (w, m.hidden), "ffn.out.w": (m.hidden, w)}
    layer |= {f"{part}.{name}": s for part in ("self", "ffn") for name, s in norm.items()}
    every = {"shared.token": (m.vocab, w), "embed.position": (m.loop.table, w)} | {f"head.{name}": s for name, s in norm.items()}
    return every | {f"loop.{l}.{name}": s for l in range(m.loop.layers) for name, s in layer.items()}


def shapes(m: Model) -> dict[str, tuple[int, ...]]:
    if m.kind.gpt:
        return gpt_shapes(m)
    if m.loop:
        return looped_shapes(m)

    def linear(name, n_in, n_out):
        return {f"{name}.w": (n_in, n_out), f"{name}.b": (n_out,)}

    def norm(name):
        return {f"{name}.gamma": (m.width,), f"{name}.beta": (m.width,)}

    def attention(name):
        ps = {}
        for part in "qkvo":
            ps |= linear(f"{name}.{part}", m.width, m.width)
        return ps | norm(f"{name}.norm")

    fire = {
        "self.fire.w1": (FIRE_HIDDEN,), "self.fire.b1": (FIRE_HIDDEN,),
        "self.fire.w2": (m.heads, FIRE_HIDDEN), "self.fire.b2": (m.heads,),
        "self.fire.scale": (), "self.fire.reach": (),
    } if m.kind.fire else {}
    layer = attention("self") | fire | attention("cross")
    layer |= linear("ffn.in", m.width, m.hidden) | linear("ffn.out", m.hidden, m.width) | norm("ffn.norm")
    every = {"embed.token": (m.vocab, m.width)}
    every |= {f"decoder.{l}.{name}": shape for l in range(m.layers) for name, shape in layer.items()}
    return every | {f"head.{name}": shape for name, shape in (norm("norm") | linear("out", m.width, m.vocab)).items()}


def initial(m: Model) -> Arrays:
    """Xavier, near enough: values do not matter to the time of a step."""
    rng = np.random.default_rng(0)

    def draw(name, shape):
        if name.endswith((".gamma", ".reach")):
            return np.ones(shape, np.float32)
        if name.endswith(".scale"):
            return np.full(shape, FIRE_SCALE, np.float32)
        if len(shape) < 2 and not name.endswith(".w1"):
            return np.zeros(shape, np.float32)
        limit = math.sqrt(6 / max(sum(shape), 1))
        return rng.uniform(-limit, limit, shape).astype(np.float32)

    return {name: draw(name, shape) for name, shape in shapes(m).items()}


def pack(p: Arrays) -> Arrays:
    packed = {}
    for name, x in p.items():
        for whole, parts in PACKS.items():
            first, *rest = (f".{part}." for part in parts)
            if any(part in name for part in rest):
                break
            if first in name:
                xs = [p[name.replace(first, f".{part}.")] for part in parts]
                packed[name.replace(first, f".{whole}.")] = np.concatenate(xs, -1)
                break
        else:
            packed[name] = x
    return packed


def unpack(packed: Arrays) -> Arrays:
    p = {}
    for name, x in packed.items():
        for whole, parts in PACKS.items():
            if f".{whole}." in name:
                for part, piece in zip(parts, np.split(x, len(parts), -1)):
                    p[name.replace(f".{whole}.", f".{part}.")] = piece
                break
        else:
            p[name] = x
    return p


@dataclass
class State:
    """Of training, between two steps."""

    step: int  # steps done
    params: Arrays
    moment1: Arrays
    moment2: Arrays


def start(m: Model) -> State:
    p = initial(m)
    zeros = {name: np.zeros_like(x) for name, x in p.items()}
    return State(0, p, zeros, {name: x.copy() for name, x in zeros.items()})


def checkpoint(path: str) -> State:
    """Reads a program's checkpoint, which is a safetensors file."""
    data = Path(path).read_bytes()
    body = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:body])
    state = State(int(header.pop("__metadata__")["step"]), {}, {}, {})
    for name, entry in header.items():
        lo, hi = entry["data_offsets"]
        x = np.frombuffer(data[body + lo:body + hi], np.float32).reshape(entry["shape"])
        group, _, rest = name.partition(".")
        if group in ("moment1", "moment2"):
            getattr(state, group)[rest] = x
        else:
            state.params[name] = x
    return state
