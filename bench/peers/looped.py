"""Evaluates tiny decoder-only models, looped and not, in PyTorch: the fixtures that
compiler/looped_test.go holds compiled programs to.

    pip install torch numpy
    python bench/peers/looped.py compiler/testdata/looped

The models are those of McLeish et al. 2024, "Transformers Can Do Arithmetic with
the Right Embeddings" (arXiv:2405.17399), as their released code makes them.
CASES says in Python what settings of looped.arith in that folder say to the
compiler. Everything is computed in float64 from parameters that float32 can hold;
random numbers, too, are made here from their definition.

Parameters are named and laid out as in checkpoints: group.layer.name, without the
layer where a loop has only one, and matrices [in, out].
"""

import math
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional as F

import philox
from fixture import below, digits, text

WIDTH, HEADS, HIDDEN = 8, 2, 16  # HIDDEN is before the gate, which halves it
HEAD = WIDTH // HEADS
SYMBOLS = 19
ROWS = 12  # of tables of positions
MAX_OFFSET = 4
SHIFTS = {"learned": 2, "sinusoidal": 40}  # largest offsets of whole examples
FIRE_HIDDEN, FIRE_THRESHOLD = 4, 5
NORM_EPS = 1e-12
GROUP = 2  # examples that share an offset
STD = 0.1  # of the noise: more than the paper's 0.02, so that it matters
SEED, STEP = 0x0123456789ABCDEF, 3

PAD, EOS, FIRST_DIGIT, EQUALS = 0, 3, 4, 17
TOKENS = {c: 4 + n for n, c in enumerate("0123456789+-x=")} | {" ": PAD, "$": EOS}

# Streams of random words, by use: the initial state of a loop, offsets of rows, offsets
# of whole examples.
START, OFFSET, SHIFT = 19, 64, 66

Params = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Shape:
    """How layers are put together."""

    layers: int
    times: int
    inject: str = "add(before = every_layer)"
    noise: bool = True  # is what a loop starts from; otherwise the embedding
    through: bool = False  # all recurrences have gradients

    @property
    def settings(self) -> list[str]:
        state = f"normal(std = {STD})" if self.noise else "embed"
        return [f"model.decoder_only.layers = {self.layers}", f"model.decoder_only.times = {self.times}",
                f"model.decoder_only.inject = {self.inject}", f"model.decoder_only.state = {state}"] \
            + (["train.loss = cross_entropy"] if self.through else [])

    @property
    def most(self) -> int:
        """Recurrences that a gradient goes through."""
        return self.times if self.through else max(self.times // 2, 1)

    def passes(self) -> list[tuple[int, int]]:
        """Recurrences without gradient and with, as training may draw them: first the
        most that have gradients, then all, then few."""
        few = [(1, 1)] if self.times > 2 and not self.through else []
        return list(dict.fromkeys([(0, self.most), (self.times - self.most, self.most)])) + few


@dataclass(frozen=True)
class Scheme:
    """Where positions come from."""

    embedding: str = "none"  # or learned, abacus or shifted
    attention: str = "none"  # or fire or rope
    turned: float = 1  # share of each head's features, by rope
    inner: str = "learned"  # or sinusoidal, of what is shifted

    @property
    def settings(self) -> list[str]:
        position = {"none": "none", "learned": f"learned(max = {ROWS})",
                    "abacus": f"abacus(max_offset = {MAX_OFFSET}, table = {ROWS})",
                    "shifted": f"shifted({self.inner}, max_offset = {SHIFTS[self.inner]}, "
                               f"max = {ROWS if self.inner == 'learned' else 99})"}[self.embedding]
        # The longest problem of three digits has no room for an offset; all problems here are shorter.
        digits = ["task.operands = digits(1..2)", "eval.digits = [1, 2]"] if self.embedding == "shifted" else []
        return [f"model.embed.position = {position}"] + digits + {
            "none": [], "rope": [f"model.decoder_only.self.rotary = rope(fraction = {self.turned:.0%})"],
            "fire": [f"model.decoder_only.self.bias = fire(hidden = {FIRE_HIDDEN}, c = 0.1, threshold = {FIRE_THRESHOLD})"],
        }[self.attention]


@dataclass(frozen=True)
class Style:
    """What the paper's models have in common, and others do not."""

    pre: bool = False  # norms come before the parts of a layer, not after
    rms: bool = False  # they are of root mean squares
    embed_norm: bool = True
    activation: str = "geglu"  # of layers and, if it is gated, of the head
    bias: bool = False
    head: bool = True  # and an adapter
    tied: bool = False

    @property
    def norm(self) -> str:
        return "rmsnorm" if self.rms else "layernorm"

    @property
    def gated(self) -> bool:
        return self.activation.endswith("glu")

    @property
    def settings(self) -> list[str]:
        if self == Style():
            return []
        return [f"model.norm = {self.norm}(eps = {NORM_EPS}, place = {'pre' if self.pre else 'post'})",
                f"model.embed.norm = {f'{self.norm}(eps = {NORM_EPS})' if self.embed_norm else 'none'}",
                f"model.ffn = {self.activation}(hidden = {HIDDEN if self.gated else HIDDEN // 2})",
                f"model.bias = {lower(self.bias)}",
                f"model.head = {f'{self.activation}(hidden = {HIDDEN})' if self.head else 'none'}",
                f"model.output = linear(adapter = {lower(self.head)}, tied = {lower(self.tied)})"]


def lower(x: bool) -> str:
    return str(x).lower()


@dataclass(frozen=True)
class Case:
    shape: Shape
    scheme: Scheme
    style: Style = Style()


# The paper's: a standard transformer, one with input injection, a looped one, and
# one whose loop has several layers.
SHAPES = {
    "st": Shape(2, 1, "add(before = block)"),
    "ii": Shape(2, 1),
    "lt": Shape(1, 4, "add(before = block)"),
    "lxr": Shape(2, 4),
}

SCHEMES = {
    "nope": Scheme(),
    "learned": Scheme("learned"),
    "abacus": Scheme("abacus"),
    "shifted": Scheme("shifted"),
    "fire": Scheme(attention="fire"),
    "rope": Scheme(attention="rope"),
    "abacus_fire": Scheme("abacus", "fire"),
    "abacus_rope": Scheme("abacus", "rope"),
}

CASES = {f"{a}_{p}": Case(shape, scheme) for a, shape in SHAPES.items() for p, scheme in SCHEMES.items()} | {
    # Injection only at the block's entry (figure 19), an odd number of recurrences,
    # and loops that start from the embedding, with injection and without.
    "entry_abacus": Case(Shape(2, 4, "add(before = block)"), SCHEMES["abacus"]),
    "thrice_fire": Case(Shape(2, 3), SCHEMES["fire"]),
    "embed_abacus": Case(Shape(2, 4, noise=False), SCHEMES["abacus"]),
    "alone_rope": Case(Shape(2, 4, "none", noise=False), SCHEMES["rope"]),
    "plain_learned": Case(Shape(2, 1, "none", noise=False), SCHEMES["learned"]),
    "plain_shifted": Case(Shape(2, 1, "none", noise=False), Scheme("shifted", inner="sinusoidal")),
    # All recurrences have gradients.
    "through_abacus": Case(Shape(2, 4, through=True), SCHEMES["abacus"]),
    # Other styles: GPT-2's, and one of Llama's with a loop.
    "gpt": Case(Shape(2, 1, "none", noise=False), SCHEMES["learned"],
                Style(pre=True, embed_norm=False, activation="gelu", bias=True, head=False, tied=True)),
    "llama": Case(Shape(2, 3, noise=False), Scheme(attention="rope", turned=0.5), Style(pre=True, rms=True, head=False)),
    "swiglu": Case(Shape(2, 2), Scheme(), Style(pre=True, rms=True, activation="swiglu")),
    "biased": Case(Shape(2, 2), SCHEMES["abacus_fire"], Style(rms=True, bias=True)),
}


def shapes(c: Case) -> dict[str, tuple[int, ...]]:
    """The parameters of a case in order."""
    style, half = c.style, HIDDEN // 2

    def norm(name):
        return {f"{name}.gamma": (WIDTH,)} | ({} if style.rms else {f"{name}.beta": (WIDTH,)})

    def linear(name, n_in, n_out):
        return {f"{name}.w": (n_in, n_out)} | ({f"{name}.b": (n_out,)} if style.bias else {})

    gated = linear("ffn.in.u", WIDTH, half) | linear("ffn.in.g", WIDTH, half) | linear("ffn.out", half, WIDTH)
    fire = {"self.fire.w1": (FIRE_HIDDEN,), "self.fire.b1": (FIRE_HIDDEN,),
            "self.fire.w2": (HEADS, FIRE_HIDDEN), "self.fire.b2": (HEADS,),
            "self.fire.scale": (), "self.fire.reach": ()}
    layer = {name: s for part in "qkvo" for name, s in linear(f"self.{part}", WIDTH, WIDTH).items()}
    layer |= (fire if c.scheme.attention == "fire" else {}) | norm("self.norm")
    layer |= gated if style.gated else linear("ffn.in", WIDTH, half) | linear("ffn.out", half, WIDTH)
    layer |= norm("ffn.norm")
    embed, shared = {}, {"token": (SYMBOLS, WIDTH)}
    if not style.tied:
        embed, shared = shared, embed
    if c.scheme.embedding != "none" and c.scheme.inner == "learned":
        embed["position"] = (ROWS, WIDTH)
    if style.embed_norm:
        embed |= norm("norm")
    out = linear("out", WIDTH, SYMBOLS)
    if style.tied:
        del out["out.w"]
    head = (gated if style.head else {}) | norm("norm") | (linear("adapter", WIDTH, WIDTH) if style.head else {}) | out
    return {f"embed.{name}": s for name, s in embed.items()} \
        | {prefix(c, l) + name: s for l in range(c.shape.layers) for name, s in layer.items()} \
        | {f"head.{name}": s for name, s in head.items()} | {f"shared.{name}": s for name, s in shared.items()}


def prefix(c: Case, layer: int) -> str:
    return f"loop.{layer}." if c.shape.layers > 1 else "loop."


def initial(c: Case) -> Params:
    """Random parameters of three decimals, none at 0 or 1, so that each one matters:
    those of a name are the same in all cases."""
    def draw(name, shape):
        low, high = -0.3, 0.3
        if len(shape) == 2:
            high = math.sqrt(6 / sum(shape))
            low = -high
        elif name.endswith((".gamma", ".reach")):
            low, high = 0.5, 1.5
        elif name.endswith(".w1"):
            low, high = -2, 2
        g = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        x = low + (high - low) * torch.rand(shape, generator=g, dtype=torch.float64)
        return x.round(decimals=3).float().double().requires_grad_()

    return {name: draw(name, shape) for name, shape in shapes(c).items()}


def abacus_rows(tokens: torch.Tensor, offsets: list[int]) -> torch.Tensor:
    """[B, T] tokens -> [B, T] rows: the place of a digit in its number, from 1 on and
    shifted by its example's offset; 0 for tokens that are not digits."""
    rows = torch.zeros_like(tokens)
    for b, example in enumerate(tokens.tolist()):
        place = 0
        for t, token in enumerate(example):
            place = place + 1 if FIRST_DIGIT <= token < FIRST_DIGIT + 10 else 0
            rows[b, t] = place and place + offsets[b]
    return rows


def offsets(examples: int, training: bool, most: int, stream: int, group: int) -> list[int]:
    """One for each group of examples, none in tests."""
    if not training:
        return [0] * examples
    return [philox.word(SEED, STEP, stream, b // group, 0) % (most + 1) for b in range(examples)]


def sinusoids(positions: torch.Tensor) -> torch.Tensor:
    """[..] -> [.., D]: sines and cosines in turn, as Vaswani et al. 2017 have them."""
    rates = 10000.0 ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)
    angle = positions[..., None] * rates
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)


def noise(examples: int, rows: int, training: bool) -> torch.Tensor:
    """[B, T, D], in tests the same for all examples. A row has two words an element."""
    def row(example, step, t):
        first = t * 2 * WIDTH
        word = [philox.word(SEED, step, START, example, first + n) for n in range(2 * WIDTH)]
        return [philox.normal(a, b) for a, b in zip(word[:WIDTH], word[WIDTH:])]

    sources = [(b, STEP) if training else (0, 0) for b in range(examples)]
    return STD * torch.tensor([[row(*s, t) for t in range(rows)] for s in sources], dtype=torch.float64)


def normed(x: torch.Tensor, p: Params, name: str) -> torch.Tensor:
    if f"{name}.beta" not in p:
        return F.rms_norm(x, (WIDTH,), p[f"{name}.gamma"], NORM_EPS)
    return F.layer_norm(x, (WIDTH,), p[f"{name}.gamma"], p[f"{name}.beta"], NORM_EPS)


def linear(x: torch.Tensor, p: Params, name: str) -> torch.Tensor:
    return F.linear(x, p[f"{name}.w"].T, p.get(f"{name}.b"))


def ffn(z: torch.Tensor, p: Params, style: Style) -> torch.Tensor:
    activation = F.silu if style.activation == "swiglu" else F.gelu
    if style.gated:
        hidden = linear(z, p, "ffn.in.u") * activation(linear(z, p, "ffn.in.g"))
    else:
        hidden = activation(linear(z, p, "ffn.in"))
    return linear(hidden, p, "ffn.out")


def fire(p: Params, length: int) -> torch.Tensor:
    """[H, T, T]: McLeish et al.'s, with another threshold instead of 512."""
    at = torch.arange(length, dtype=torch.float64)
    c, reach = p["self.fire.scale"], (p["self.fire.reach"] * FIRE_THRESHOLD).abs()
    near = torch.log((c * (at[:, None] - at)).abs() + 1)
    far = torch.log((c * torch.maximum(at, reach)).abs() + 1) + 1e-6
    hidden = F.relu((near / far[:, None])[..., None] * p["self.fire.w1"] + p["self.fire.b1"])
    return F.linear(hidden, p["self.fire.w2"], p["self.fire.b2"]).permute(2, 0, 1)


def rope(x: torch.Tensor, turned: float) -> torch.Tensor:
    """[B, H, T, K]: of the features that turn, each of the first half with one of the
    second."""
    n = int(HEAD * turned)
    rates = 10000.0 ** (-2 * torch.arange(n // 2, dtype=torch.float64) / n)
    angle = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * rates
    x1, x2, rest = x.split([n // 2, n // 2, HEAD - n], -1)
    return torch.cat([x1 * angle.cos() - x2 * angle.sin(), x2 * angle.cos() + x1 * angle.sin(), rest], -1)


def attention(h: torch.Tensor, p: Params, scheme: Scheme) -> torch.Tensor:
    batch, length, _ = h.shape
    q, k, v = (linear(h, p, f"self.{part}").view(batch, length, HEADS, HEAD).transpose(1, 2) for part in "qkv")
    if scheme.attention == "rope":
        q, k = rope(q, scheme.turned), rope(k, scheme.turned)
    scores = torch.zeros(HEADS, length, length, dtype=torch.float64)
    if scheme.attention == "fire":
        scores = scores + fire(p, length)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=scores.masked_fill(later, -math.inf))
    return linear(y.transpose(1, 2).reshape(batch, length, WIDTH), p, "self.o")


def logits(c: Case, p: Params, tokens: torch.Tensor, no_grad: int, with_grad: int, training: bool) -> torch.Tensor:
    """[B, T] tokens -> [B, T, symbols], after no_grad recurrences without gradients and with_grad with them."""
    batch, length = tokens.shape
    table = p["shared.token" if c.style.tied else "embed.token"]
    e = table[tokens]
    if c.scheme.embedding == "learned":
        e = e + p["embed.position"][:length]
    if c.scheme.embedding == "abacus":
        e = e + p["embed.position"][abacus_rows(tokens, offsets(batch, training, MAX_OFFSET, OFFSET, GROUP))]
    if c.scheme.embedding == "shifted":
        starts = torch.tensor(offsets(batch, training, SHIFTS[c.scheme.inner], SHIFT, 1))
        positions = starts[:, None] + torch.arange(length)
        e = e + (p["embed.position"][positions] if c.scheme.inner == "learned" else sinusoids(positions))
    if c.style.embed_norm:
        e = normed(e, p, "embed.norm")

    def recurrence(h, e):
        for l in range(c.shape.layers):
            w = below(p, prefix(c, l))
            if c.shape.inject == "add(before = every_layer)" or c.shape.inject == "add(before = block)" and l == 0:
                h = h + e
            if c.style.pre:
                h = h + attention(normed(h, w, "self.norm"), w, c.scheme)
                h = h + ffn(normed(h, w, "ffn.norm"), w, c.style)
            else:
                h = normed(h + attention(h, w, c.scheme), w, "self.norm")
                h = normed(h + ffn(h, w, c.style), w, "ffn.norm")
        return h

    h = noise(batch, length, training) if c.shape.noise else e
    with torch.no_grad():
        for _ in range(no_grad):
            h = recurrence(h, e)
    for _ in range(with_grad):
        h = recurrence(h, e)
    head = below(p, "head.")
    if c.style.head:
        h = ffn(h, head, c.style)
    h = normed(h, head, "norm")
    if c.style.head:
        h = linear(h, head, "adapter")
    out = table.T if c.style.tied else head["out.w"]
    return F.linear(h, out.T, head.get("out.b"))


def problems() -> tuple[torch.Tensor, torch.Tensor]:
    """[B, T] tokens and labels, -1 where nothing is to be learned: answers and their
    ends alone are. One has a space in a number, which so becomes two."""
    texts = ["21+543=564$", "9+1=01$", "1 2+3=42$", "99+1=001$"]
    longest = max(map(len, texts))
    ids = torch.tensor([[TOKENS[x] for x in s] + [PAD] * (longest - len(s)) for s in texts])
    answer = (ids == EQUALS).cumsum(1)[:, :-1] > 0
    labels = ids[:, 1:].masked_fill(~answer | (ids[:, 1:] == PAD), -1)
    return ids[:, :-1], labels


def evaluate(c: Case) -> dict:
    p = initial(c)
    tokens, labels = problems()
    passes = []
    for no_grad, with_grad in c.shape.passes():
        out = logits(c, p, tokens, no_grad, with_grad, True)
        rows = F.cross_entropy(out.flatten(0, 1), labels.flatten(), ignore_index=-1, reduction="none").view(labels.shape)
        loss = rows.sum() / (labels >= 0).sum()
        found = {"no_grad": no_grad, "with_grad": with_grad, "loss": loss.item(), "rows": [digits(r) for r in rows]}
        if with_grad == c.shape.most:
            gradients = torch.autograd.grad(loss, list(p.values()), allow_unused=True)
            found["gradients"] = [digits(x if x is not None else torch.zeros_like(w)) for x, w in zip(gradients, p.values())]
        passes.append(found)
    tests = []
    for times in (c.shape.times, c.shape.times + 1):
        out = logits(c, p, tokens, 0, times, False)
        tests.append({"times": times, "pred": out.argmax(-1).tolist()})
    return {"set": c.shape.settings + c.scheme.settings + c.style.settings, "seed": SEED, "step": STEP, "group": GROUP,
            "target": tokens.tolist(), "labels": labels.tolist(), "passes": passes, "tests": tests,
            "params": list(p)}


def main() -> None:
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    params = {name: {"shape": list(x.shape), "initial": digits(x)} for c in CASES.values() for name, x in initial(c).items()}
    (folder / "params.json").write_text(text(params, 1) + "\n")
    (folder / "cases").mkdir(exist_ok=True)
    for name, c in CASES.items():
        (folder / "cases" / f"{name}.json").write_text(text(evaluate(c)) + "\n")


if __name__ == "__main__":
    main()
