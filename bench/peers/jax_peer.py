"""The models in JAX: one jitted function a step."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import models
from models import Model, State


class Dropout:
    """Draws another key for each place."""

    def __init__(self, rate: float, key):
        self.rate, self.key, self.places = rate, key, 0

    def __call__(self, x):
        if self.rate == 0:
            return x
        self.places += 1
        kept = jax.random.bernoulli(jax.random.fold_in(self.key, self.places), 1 - self.rate, x.shape)
        return jnp.where(kept, x / (1 - self.rate), 0)


def linear(p, name, x):
    return x @ p[f"{name}.w"] + p[f"{name}.b"]


def norm(p, name, x):
    centered = x - x.mean(-1, keepdims=True)
    variance = jnp.square(centered).mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(variance + 1e-5) * p[f"{name}.gamma"] + p[f"{name}.beta"]


def fire(m: Model, p, name):
    """[H, T, T] (Li et al. 2024, arXiv:2310.04418, section 3)"""
    distance, query = m.fire_inputs()
    far = jnp.maximum(query, jnp.abs(models.FIRE_THRESHOLD * p[f"{name}.reach"]))
    scale = p[f"{name}.scale"]
    z = jnp.log(jnp.abs(scale * distance) + 1) / (jnp.log(jnp.abs(scale * far) + 1) + 1e-6)
    hidden = jax.nn.relu(z[..., None] * p[f"{name}.w1"] + p[f"{name}.b1"])
    return jnp.einsum("ijm,hm->hij", hidden, p[f"{name}.w2"]) + p[f"{name}.b2"][:, None, None]


def attend(m: Model, p, name, drop, x, q, k, v, mask, bias=None):
    """A residual sub-layer; q, k and v are [B, T, D]."""
    q, k, v = (y.reshape(*y.shape[:2], m.heads, -1) for y in (q, k, v))
    scores = jnp.einsum("bihe,bjhe->bhij", q, k) / math.sqrt(m.width / m.heads)
    if bias is not None:
        scores += bias
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    probabilities = drop(jax.nn.softmax(scores))
    y = jnp.einsum("bhij,bjhe->bihe", probabilities, v).reshape(x.shape)
    return norm(p, f"{name}.norm", x + drop(linear(p, f"{name}.o", y)))


def loss(m: Model, p, key, source, target, labels):
    drop = Dropout(m.dropout, key)
    own, cross = m.masks()

    def embed(tokens):
        return drop(p["embed.token"][tokens] * math.sqrt(m.width) + m.positions(tokens.shape[1]))

    memory, x = embed(source), embed(target)
    for l in range(m.layers):
        at = f"decoder.{l}"
        bias = fire(m, p, f"{at}.self.fire") if m.kind.fire else None
        q, k, v = jnp.split(linear(p, f"{at}.self.qkv", x), 3, -1)
        x = attend(m, p, f"{at}.self", drop, x, q, k, v, own, bias)
        k, v = jnp.split(linear(p, f"{at}.cross.kv", memory), 2, -1)
        x = attend(m, p, f"{at}.cross", drop, x, linear(p, f"{at}.cross.q", x), k, v, cross)
        h = drop(jax.nn.relu(linear(p, f"{at}.ffn.in", x)))
        x = norm(p, f"{at}.ffn.norm", x + drop(linear(p, f"{at}.ffn.out", h)))
    logits = jax.nn.log_softmax(linear(p, "head.out", norm(p, "head.norm", x)))
    return -jnp.take_along_axis(logits, labels[..., None], -1).mean()


def train_step(m: Model, state, source, target, labels):
    """Gradients and Adam (Kingma and Ba 2015, algorithm 1)."""
    step, params, moment1, moment2 = state
    key = jax.random.fold_in(jax.random.key(0), step)
    value, gradients = jax.value_and_grad(partial(loss, m))(params, key, source, target, labels)
    step += 1
    a = m.adam
    moment1 = jax.tree.map(lambda s, g: a["beta1"] * s + (1 - a["beta1"]) * g, moment1, gradients)
    moment2 = jax.tree.map(lambda s, g: a["beta2"] * s + (1 - a["beta2"]) * g * g, moment2, gradients)
    correct1, correct2 = (1 / (1 - beta ** step.astype(jnp.float32)) for beta in (a["beta1"], a["beta2"]))
    params = jax.tree.map(lambda p, s, t: p - a["lr"] * s * correct1 / (jnp.sqrt(t * correct2) + a["eps"]),
                          params, moment1, moment2)
    return (step, params, moment1, moment2), value


class Peer:
    def __init__(self, m: Model, state: State):
        groups = (state.params, state.moment1, state.moment2)
        packed = ({name: jnp.array(x) for name, x in models.pack(g).items()} for g in groups)
        self.now = (jnp.array(state.step), *packed)
        self.step = jax.jit(partial(train_step, m), donate_argnums=0)
        self.batches = [[jnp.array(x) for x in (b.source, b.target, b.labels)] for b in m.batches]
        self.done = 0

    def run(self, steps: int) -> float:
        """Trains, and returns the last step's loss."""
        for _ in range(steps):
            self.now, value = self.step(self.now, *self.batches[self.done % len(self.batches)])
            self.done += 1
        jax.block_until_ready(self.now)
        return float(value)

    def state(self) -> State:
        step, *groups = self.now
        return State(int(step), *(models.unpack({name: np.array(x) for name, x in g.items()}) for g in groups))
