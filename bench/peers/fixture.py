"""Trains tiny successor models in PyTorch and writes what happened: the fixtures
that compiler/peers_test.go holds compiled programs to.

    pip install torch numpy
    python bench/peers/fixture.py compiler/testdata/peers

The model is that of Duan, Shi and Xu, "Attention Bias as an Inductive Bias"
(arXiv:2310.11984), section 4, made of torch.nn's transformer layers as in its
released code. Only attention is written out, so that there is a place for all that
a scheme of positions does to it. VARIANTS has the Python form of the .arith file with the
same name in that folder. Everything is computed in float64 from parameters that float32
can hold, so a float32 program differs from the fixture only by its own rounding. There is no dropout.

Parameters are named and laid out as in checkpoints: group.layer.name, without the
layer where a stack has only one, and matrices [in, out].

A fixture also has, before training, what is predicted for the first batch, and the
scores of the last decoder layer for its first problems, as softmax gets them.
"""

import json
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable
from unittest import mock

import numpy as np
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import linear

from lines import Lines

WIDTH, HEADS, HIDDEN = 8, 2, 16
DIGITS, BATCH = 4, 4
SYMBOLS = "$*+-/0123456789@^"  # token ids are places in it
ADAM = dict(lr=1e-2, betas=(0.9, 0.98), eps=1e-9)
LION = dict(lr=1e-2, betas=(0.9, 0.99))
LION_DECAY = 0.5  # of tables and matrices
SGD = dict(lr=1e-2, momentum=0.875)
SGD_DECAY = 0.5  # of tables and matrices
GROKFAST = dict(alpha=0.75, lamb=1.5)
MUON = dict(lr=1e-2, weight_decay=0.5)  # of tables, too
LEARNED_POSITIONS = 8
CLIP = 2  # of Shaw's relative positions
CAPTURED = 2  # problems whose attention is in a fixture

Params = dict[str, torch.Tensor]


def closed_unless(open_: torch.Tensor, scores=0.0) -> torch.Tensor:
    """What is added to attention scores: -inf where a key is not seen."""
    return torch.where(open_, scores, -math.inf)


def window_self(_, i, j):
    return closed_unless((j <= i) & (i - j <= 1))


def window_cross(i, j, keys):
    return closed_unless((keys - 2 - i - j).abs() <= 1)


def causal_self(_, i, j):
    return closed_unless(j <= i)


def open_cross(i, j, _):
    return closed_unless((i + j) >= 0)


def kerple_self(p, i, j):
    """The logarithmic bias of Chi et al. 2022 (arXiv:2205.09921), eq. 6."""
    r1, r2 = (p[f"self.kerple.{r}"][:, None, None] for r in ("r1", "r2"))
    return closed_unless(j <= i, -r1 * torch.log(1 + r2 * (i - j).abs()))


def distance_cross(i, j, keys):
    return -0.5 * (keys - 2 - i - j).abs().double()


def alibi_self(_, i, j):
    """The released code of the paper of calibration: eight heads, and a distance more
    than Press et al. have."""
    slopes = 2.0 ** -torch.arange(1, 9)
    return closed_unless(j <= i, -slopes[:, None, None] * (i - j + 1))


def alibi_published_self(_, i, j):
    """Press, Smith and Lewis 2022 (arXiv:2108.12409), section 3, for four heads: a
    geometric sequence that starts at 2^(-8/4), and with that ratio."""
    slopes = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256], dtype=torch.float64)
    return closed_unless(j <= i, slopes[:, None, None] * (j - i))


# Four heads: a line, another line, nothing, and two lines with a column; for problems of 7
# digits, longer than the batches.
SELF_LINES = Lines(8, 8, {
    (1, 1): [{0: 2.25}, {-1: 1.75}, {}, {0: 0.875, -1: 1.25}],
    (1, 0): [{}, {}, {}, {3: 0.5}],
})
CROSS_LINES = Lines(8, 9, {
    (1, -1): [{7: 3.125}, {7: 1.5, 6: 0.75}, {}, {8: 0.625}],
    (1, 0): [{}, {}, {}, {7: 2.0, 5: 0.25}],
})

# Two heads see nothing: one in the first row, and one in all later rows.
CLOSING_LINES = Lines(8, 9, {
    (1, -1): [{9: 3.0}, {3: 1.5}, {}, {8: 0.5}],
    (1, 0): [{}, {}, {}, {}],
})


def lines_self(_, i, j):
    return closed_unless(j <= i, SELF_LINES.bias(len(i), len(j)))


def lines_cross(i, _, keys):
    return 0.5 * CROSS_LINES.bias(len(i), keys)


def closing_cross(i, _, keys):
    return 0.5 * CLOSING_LINES.bias(len(i), keys)


def mixed_self(p, i, j):
    return lines_self(p, i, j) + kerple_self(p, i, j)


def mixed_cross(i, j, keys):
    return CROSS_LINES.bias(len(i), keys) + distance_cross(i, j, keys)


@dataclass(frozen=True)
class Scheme:
    """What attention itself does about positions."""

    turned: str = ""  # heads: those of queries and keys; input: what they are projected from
    share: float = 1  # of the features, that turns
    relative: bool = False  # learned vectors are added to keys


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023 (arXiv:2302.06675), algorithm 2."""

    def __init__(self, params, **options):
        super().__init__(params, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                update = (beta1 * m + (1 - beta1) * p.grad).sign()
                p -= group["lr"] * (update + group["decay"] * p)
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class Muon(torch.optim.AdamW):
    """torch.optim.Muon of the matrices of layers, which are [out, in] there, and AdamW of
    all else. Where that casts to bfloat16, this does not."""

    def __init__(self, params: Params, betas, eps, **options):
        self.matrices = {name: x for name, x in params.items() if name.startswith(("encoder.", "decoder.")) and name.endswith(".w")}
        self.turned = {name: nn.Parameter(x.detach().T.clone()) for name, x in self.matrices.items()}
        self.muon = torch.optim.Muon(self.turned.values(), **MUON, **options)
        rest = [x for name, x in params.items() if name not in self.matrices]
        super().__init__([{"params": [x], "weight_decay": MUON["weight_decay"] if x.dim() > 1 else 0} for x in rest],
                         lr=MUON["lr"], betas=betas, eps=eps)

    @torch.no_grad()
    def step(self):
        super().step()
        for name, x in self.matrices.items():
            self.turned[name].grad = x.grad.T.clone()
        with mock.patch.object(torch, "bfloat16", torch.float64):
            self.muon.step()
        for name, x in self.matrices.items():
            x.copy_(self.turned[name].T)
            x.grad = None  # which zero_grad sees of the rest alone


def adam(params: Params) -> torch.optim.Optimizer:
    return torch.optim.Adam(params.values(), **ADAM)


def lion(params: Params) -> torch.optim.Optimizer:
    return Lion([{"params": [x], "decay": LION_DECAY if x.dim() > 1 else 0} for x in params.values()], **LION)


def sgd(params: Params) -> torch.optim.Optimizer:
    groups = [{"params": [x], "weight_decay": SGD_DECAY if x.dim() > 1 else 0} for x in params.values()]
    return torch.optim.SGD(groups, **SGD)


def nesterov(params: Params) -> torch.optim.Optimizer:
    return torch.optim.SGD(params.values(), **SGD, nesterov=True)


def muon(params: Params) -> torch.optim.Optimizer:
    return Muon(params, (0.9, 0.98), 1e-9, adjust_lr_fn="match_rms_adamw")


class Grokfast(torch.optim.AdamW):
    """AdamW after gradfilter_ema of Lee et al. 2024 (arXiv:2405.20233): to each gradient its
    average is added, which begins with the first one. Then their norm is clipped."""

    def __init__(self, params: Params, limit: float, alpha: float, lamb: float, **options):
        super().__init__(params.values(), **options)
        self.all, self.limit, self.alpha, self.lamb = list(params.values()), limit, alpha, lamb
        self.slow = None

    def step(self):
        grads = [x.grad.clone() for x in self.all]
        self.slow = grads if self.slow is None else [self.alpha * m + (1 - self.alpha) * g for m, g in zip(self.slow, grads)]
        for x, m in zip(self.all, self.slow):
            x.grad += self.lamb * m
        nn.utils.clip_grad_norm_(self.all, self.limit)
        super().step()


def grokfast(params: Params) -> torch.optim.Optimizer:
    return Grokfast(params, 0.5, **GROKFAST, **ADAM, weight_decay=0)


def original_muon(params: Params) -> torch.optim.Optimizer:
    return Muon(params, (0.8, 0.9), 1e-8, adjust_lr_fn="original", momentum=0.8, nesterov=False, ns_steps=3)


@dataclass
class Variant:
    seed: int
    encoder: int  # layers; 0: the decoder attends to the embedded source
    decoder: int
    activation: str
    position: Callable[[torch.Tensor], torch.Tensor] | None  # None: a learned table
    self_scores: Callable  # (layer parameters, row, key) -> [rows, keys] or [heads, rows, keys]
    cross_scores: Callable  # (row, key, number of keys) -> [rows, keys]
    params: tuple[str, ...] = ()  # learned by the bias of self attention, [heads] each
    heads: int = HEADS
    scheme: Scheme = Scheme()  # of all attention, but vectors are relative in self attention alone
    given: tuple[tuple[str, Lines], ...] = ()  # sites with calibrated lines, which are not trained
    steps: int = 4
    optimizer: Callable[[Params], torch.optim.Optimizer] = adam
    smoothing: float = 0  # share of a label that all tokens share
    key_heads: dict[str, int] | None = None  # of keys and values, by site; None: heads


def sinusoid(p: torch.Tensor) -> torch.Tensor:
    """Vaswani et al. 2017, section 3.5."""
    k = torch.arange(0, WIDTH, 2)
    angle = p[:, None] * 10000.0 ** (-k / WIDTH)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def nowhere(p: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(p), WIDTH)


def in_order(p: torch.Tensor) -> torch.Tensor:
    return sinusoid(p.double())


CALIBRATED = ("self", SELF_LINES), ("cross", CROSS_LINES)
KERPLE = "kerple.r1", "kerple.r2"

VARIANTS = {
    "windows": Variant(1, 0, 2, "relu", lambda p: sinusoid(p.double() % 3), window_self, window_cross, steps=10),
    "encoder": Variant(2, 1, 1, "gelu", None, causal_self, open_cross, steps=10),
    "kerple": Variant(3, 0, 2, "relu", in_order, kerple_self, distance_cross, KERPLE, steps=10),
    "alibi": Variant(4, 0, 1, "relu", in_order, alibi_self, open_cross, heads=8),
    "alibi_published": Variant(5, 0, 1, "relu", nowhere, alibi_published_self, open_cross, heads=4),
    "rope": Variant(6, 0, 1, "relu", nowhere, causal_self, open_cross, scheme=Scheme("heads")),
    "rope_input": Variant(7, 0, 1, "relu", nowhere, causal_self, open_cross, scheme=Scheme("input", 0.5)),
    "shaw": Variant(8, 1, 1, "relu", in_order, causal_self, open_cross, scheme=Scheme(relative=True)),
    "lines": Variant(9, 0, 2, "relu", in_order, lines_self, lines_cross, heads=4, given=CALIBRATED),
    "closing": Variant(11, 0, 2, "relu", in_order, lines_self, closing_cross, heads=4,
                       given=(("self", SELF_LINES), ("cross", CLOSING_LINES)), steps=1),
    "lion": Variant(12, 0, 1, "relu", in_order, causal_self, open_cross, steps=10, optimizer=lion),
    "smoothed": Variant(19, 0, 1, "relu", in_order, causal_self, open_cross, steps=10, smoothing=0.25),
    "sgd": Variant(17, 0, 1, "relu", in_order, causal_self, open_cross, steps=10, optimizer=sgd),
    "nesterov": Variant(18, 0, 1, "relu", in_order, causal_self, open_cross, steps=10, optimizer=nesterov),
    "muon": Variant(13, 0, 1, "relu", in_order, causal_self, open_cross, steps=10, optimizer=muon),
    "original_muon": Variant(14, 1, 1, "relu", in_order, causal_self, open_cross, steps=4, optimizer=original_muon),
    "grouped": Variant(16, 0, 2, "relu", in_order, kerple_self, open_cross, KERPLE, heads=4, scheme=Scheme("heads"),
                       key_heads={"self": 2, "cross": 1}),
    "grokfast": Variant(15, 0, 1, "relu", in_order, causal_self, open_cross, steps=10, optimizer=grokfast),
    "mixed": Variant(10, 0, 1, "relu", in_order, mixed_self, mixed_cross, KERPLE, heads=4, given=CALIBRATED),
}


def shapes(v: Variant) -> dict[str, tuple[int, ...]]:
    """The parameters of a variant in order."""
    def matrix(name, n_in, n_out):
        return {f"{name}.w": (n_in, n_out), f"{name}.b": (n_out,)}

    def norm(name):
        return {f"{name}.gamma": (WIDTH,), f"{name}.beta": (WIDTH,)}

    def attention(name, params=()):
        ps = {}
        keys = WIDTH // v.heads * (v.key_heads or {}).get(name, v.heads)
        for part in "qkv":
            ps |= matrix(f"{name}.{part}", WIDTH, WIDTH if part == "q" else keys)
        ps |= matrix(f"{name}.o", WIDTH, WIDTH)
        if v.scheme.relative and name == "self":
            ps[f"{name}.relative"] = (2 * CLIP + 1, WIDTH // v.heads)
        return ps | {f"{name}.{param}": (v.heads,) for param in params} | norm(f"{name}.norm")

    ffn = matrix("ffn.in", WIDTH, HIDDEN) | matrix("ffn.out", HIDDEN, WIDTH) | norm("ffn.norm")
    embed = {"token": (len(SYMBOLS), WIDTH)}
    if v.position is None:
        embed["position"] = (LEARNED_POSITIONS, WIDTH)
    groups = [("embed", 1, embed)]
    if v.encoder:
        groups += [("encoder", v.encoder, attention("self") | ffn), ("encoder_norm", 1, norm("norm"))]
    groups += [("decoder", v.decoder, attention("self", v.params) | attention("cross") | ffn),
               ("head", 1, norm("norm") | matrix("out", WIDTH, len(SYMBOLS))),
               ("fixed", 1, {name: tuple(x.shape) for name, x in given(v).items()})]
    return {prefix(group, layers, layer) + name: shape
            for group, layers, ps in groups for layer in range(layers) for name, shape in ps.items()}


def given(v: Variant) -> Params:
    """The lines of each site by direction, in order."""
    return {f"calibrated.{site}{n}": lines.param(d) for site, lines in v.given for n, d in enumerate(lines.heads)}


def prefix(group: str, layers: int, layer: int) -> str:
    return f"{group}.{layer}." if layers > 1 else f"{group}."


def initial(v: Variant) -> Params:
    """Random parameters of three decimals: none at 0 or 1, so that each one matters."""
    rng = np.random.default_rng(v.seed)

    def draw(name, shape):
        if len(shape) == 2:
            limit = math.sqrt(6 / sum(shape))
            low, high = -limit, limit
        elif name.endswith((".gamma", ".r1", ".r2")):
            low, high = 0.5, 1.5
        else:
            low, high = -0.3, 0.3
        values = rng.uniform(low, high, shape).round(3).astype(np.float32)
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)

    fixed = {f"fixed.{name}": x for name, x in given(v).items()}
    return {name: draw(name, shape) for name, shape in shapes(v).items() if name not in fixed} | fixed


def below(p: Params, start: str) -> Params:
    return {name.removeprefix(start): x for name, x in p.items() if name.startswith(start)}


def torch_layer(p: Params, norms: list[str]) -> Params:
    """A layer's parameters under the names and in the layout of torch.nn."""
    out = {}
    for site, module in (("self", "self_attn"), ("cross", "multihead_attn")):
        if f"{site}.q.w" not in p:
            continue
        out[f"{module}.in_proj_weight"] = torch.cat([p[f"{site}.{part}.w"].T for part in "qkv"])
        out[f"{module}.in_proj_bias"] = torch.cat([p[f"{site}.{part}.b"] for part in "qkv"])
        out[f"{module}.out_proj.weight"] = p[f"{site}.o.w"].T
        out[f"{module}.out_proj.bias"] = p[f"{site}.o.b"]
        if f"{site}.relative" in p:
            out[f"{module}.relative"] = p[f"{site}.relative"]
    for ours, theirs in (("ffn.in", "linear1"), ("ffn.out", "linear2")):
        out[f"{theirs}.weight"], out[f"{theirs}.bias"] = p[f"{ours}.w"].T, p[f"{ours}.b"]
    for n, name in enumerate(norms, 1):
        out[f"norm{n}.weight"], out[f"norm{n}.bias"] = p[f"{name}.gamma"], p[f"{name}.beta"]
    return out


def turn(x: torch.Tensor, share: float) -> torch.Tensor:
    """[..., L, K] vectors at positions 0 to L-1: of a share of their features each of
    the first half turns with one of the second. Su et al. 2021 (arXiv:2104.09864)."""
    k = x.shape[-1]
    n = int(k * share)
    rates = 10000.0 ** (-2 * torch.arange(n // 2) / n)
    angle = torch.arange(x.shape[-2])[:, None] * rates.double()
    a, b, rest = x.split([n // 2, n // 2, k - n], -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin(), rest], -1)


class Attention(nn.MultiheadAttention):
    """torch.nn's, whose scores are kept, in a scheme of positions."""

    def __init__(self, heads: int, scheme: Scheme = Scheme()):
        super().__init__(WIDTH, heads, batch_first=True, dtype=torch.float64)
        self.scheme = scheme
        if scheme.relative:
            self.relative = nn.Parameter(torch.zeros(2 * CLIP + 1, WIDTH // heads))

    def forward(self, query, key, value, attn_mask=None, **_):
        if self.scheme.turned == "input":
            query, key = turn(query, self.scheme.share), turn(key, self.scheme.share)
        keys = (len(self.in_proj_bias) - WIDTH) // 2  # units of the heads of keys, which may be fewer
        split = [WIDTH, keys, keys]
        parts = zip((query, key, value), self.in_proj_weight.split(split), self.in_proj_bias.split(split))
        q, k, v = (linear(*part).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for part in parts)
        if self.scheme.turned == "heads":
            q, k = turn(q, self.scheme.share), turn(k, self.scheme.share)
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))  # Ainslie et al. 2023
        keys = k[:, :, None]  # [B, H, 1, J, K]
        if self.scheme.relative:  # Shaw et al. 2018 (arXiv:1803.02155), eq. 4
            i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
            keys = keys + self.relative[(j - i).clamp(-CLIP, CLIP) + CLIP]
        self.scores = (q[:, :, :, None] * keys).sum(-1) / math.sqrt(q.shape[-1])
        if attn_mask is not None:
            self.scores = self.scores + attn_mask
        y = self.scores.softmax(-1) @ v
        return self.out_proj(y.transpose(1, 2).flatten(2)), None


def same_as_torch() -> bool:
    """Whether attention without a scheme is torch.nn's."""
    own, theirs = Attention(HEADS), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=torch.float64)
    own.load_state_dict(theirs.state_dict())
    x, y = torch.randn(2, 3, 5, WIDTH, dtype=torch.float64)
    mask = closed_unless(torch.ones(5, 5).tril() > 0).double()
    want, weights = theirs(x, y, y, attn_mask=mask, average_attn_weights=False)
    got, _ = own(x, y, y, attn_mask=mask)
    return torch.allclose(got, want, 1e-12, 1e-12) and torch.allclose(own.scores.softmax(-1), weights, 1e-12, 1e-12)


def layer_norm(x: torch.Tensor, p: Params) -> torch.Tensor:
    return nn.functional.layer_norm(x, (WIDTH,), p["norm.gamma"], p["norm.beta"])


def logits(v: Variant, p: Params, source: torch.Tensor, target: torch.Tensor):
    """[B, S], [B, T] tokens -> [B, T, symbols], and the scores of the last decoder layer
    in self [B, H, T, T] and cross attention [B, H, T, S]"""
    def embed(tokens):
        at = torch.arange(tokens.shape[1])
        positions = p["embed.position"][at] if v.position is None else v.position(at)
        return p["embed.token"][tokens] * math.sqrt(WIDTH) + positions

    kind = dict(d_model=WIDTH, nhead=v.heads, dim_feedforward=HIDDEN, dropout=0.0, activation=v.activation,
                batch_first=True, norm_first=False, dtype=torch.float64)
    memory = embed(source)
    for l in range(v.encoder):
        layer = nn.TransformerEncoderLayer(**kind)
        layer.self_attn = Attention(v.heads, v.scheme)
        weights = torch_layer(below(p, prefix("encoder", v.encoder, l)), ["self.norm", "ffn.norm"])
        memory = functional_call(layer, weights, (memory,))
    if v.encoder:
        memory = layer_norm(memory, below(p, "encoder_norm."))

    x = embed(target)
    rows, keys = target.shape[1], source.shape[1]
    i = torch.arange(rows)[:, None]
    cross = v.cross_scores(i, torch.arange(keys), keys).double()
    for l in range(v.decoder):
        layer = nn.TransformerDecoderLayer(**kind)
        layer.self_attn = Attention(v.heads, v.scheme)
        layer.multihead_attn = Attention(v.heads, replace(v.scheme, relative=False))
        own = below(p, prefix("decoder", v.decoder, l))
        weights = torch_layer(own, ["self.norm", "cross.norm", "ffn.norm"])
        masks = dict(tgt_mask=v.self_scores(own, i, torch.arange(rows)).double(), memory_mask=cross)
        x = functional_call(layer, weights, (x, memory), masks)
    head = below(p, "head.")
    y = layer_norm(x, head) @ head["out.w"] + head["out.b"]
    return y, {"self": layer.self_attn.scores, "cross": layer.multihead_attn.scores}


def batches(steps: int) -> list[dict]:
    """The same problems for all variants: n, of DIGITS digits, and n + 1 reversed."""
    def tokens(texts):
        return [[SYMBOLS.index(c) for c in text] for text in texts]

    rng = np.random.default_rng(0)
    found = []
    for _ in range(steps):
        numbers = [int(n) for n in rng.integers(0, 10**DIGITS - 1, BATCH)]
        answers = [f"{n + 1:0{DIGITS}}"[::-1] for n in numbers]
        found.append({
            "source": tokens(f"^{n:0{DIGITS}}$" for n in numbers),
            "target": tokens("^" + answer for answer in answers),
            "labels": tokens(answer + "$" for answer in answers),
        })
    return found


def train(v: Variant) -> dict:
    p = initial(v)
    start = {name: x.detach().clone() for name, x in p.items()}
    optimizer = v.optimizer({name: x for name, x in p.items() if x.requires_grad})
    losses, gradients, attention, pred = [], {}, {}, None
    for batch in batches(v.steps):
        source, target, labels = (torch.tensor(batch[k]) for k in ("source", "target", "labels"))
        y, scores = logits(v, p, source, target)
        loss = nn.functional.cross_entropy(y.flatten(0, 1), labels.flatten(), label_smoothing=v.smoothing)
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        gradients = gradients or {name: torch.zeros_like(x) if x.grad is None else x.grad.clone() for name, x in p.items()}
        pred = pred or y.argmax(-1).tolist()
        attention = attention or {site: seen(x[:CAPTURED]) for site, x in scores.items()}
        optimizer.step()
    params = [{"name": name, "shape": list(x.shape), "initial": digits(start[name]),
               "gradient": digits(gradients[name]), "final": digits(x)} for name, x in p.items()]
    return {"losses": losses, "batches": batches(v.steps), "params": params, "attention": attention, "pred": pred}


def seen(scores: torch.Tensor) -> list[float | None]:
    """None where a key is not seen."""
    return [x if math.isfinite(x) else None for x in digits(scores)]


def digits(x: torch.Tensor) -> list[float]:
    """To 7 digits, which for those of initial is exact and else within float32's rounding."""
    return [float(f"{e:.7g}") for e in x.detach().flatten().tolist()]


def text(value, depth: int = 2) -> str:
    """JSON with a line for each element of the outer levels."""
    if depth == 0 or not isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, list):
        return "[\n" + ",\n".join(text(e, depth - 1) for e in value) + "\n]"
    return "{\n" + ",\n".join(f'"{k}": {text(e, depth - 1)}' for k, e in value.items()) + "\n}"


def main() -> None:
    torch.set_num_threads(1)
    if not same_as_torch():
        raise SystemExit("attention as it is written here is not that of torch.nn")
    folder = Path(sys.argv[1])
    for name, v in VARIANTS.items():
        (folder / f"{name}.json").write_text(text(train(v)) + "\n")


if __name__ == "__main__":
    main()
