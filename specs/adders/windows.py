"""windows: a transformer of 9 parameters, exported by mlc.

    mlc export runs/windows --format numpy --out specs/adders/windows.py --store=literals

python3 windows.py 999+999   prints the model's answer; see build_model, logits and answer.
"""

import sys

import numpy as np

TIMES = 1  # how often the loop runs


# ---- What the model is made of.


FLOAT = np.float32


def f32(x):
    return np.asarray(x).astype(FLOAT)


def single(x):
    """Numbers alone would be of double precision."""
    return f32(x) if np.asarray(x).dtype == np.float64 else x


def pointwise(function):
    """The function, of numbers too."""
    return lambda x: function(single(x))


exp = pointwise(np.exp)
sqrt = pointwise(np.sqrt)


def where(condition, a, b):
    return single(np.where(condition, a, b))


def maximum(a, b):
    return single(np.maximum(a, b))


def index(n, axes=1):
    """0 … n-1 along the first of so many axes."""
    return np.arange(n).reshape((n,) + (1,) * (axes - 1))


def broadcast(x, shape):
    return np.broadcast_to(single(x), shape)


def transposed(x):
    return np.swapaxes(x, -2, -1)


def layernorm(x, gamma, beta, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + FLOAT(eps)) * gamma + beta


def split(x, heads):
    """[B, L, heads * N] -> [B, heads, L, N]"""
    return np.swapaxes(x.reshape(*x.shape[:2], heads, -1), 1, 2)


def merge(x):
    """[B, heads, L, N] -> [B, L, heads * N]"""
    return np.swapaxes(x, 1, 2).reshape(x.shape[0], x.shape[2], -1)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, heads, scale, mask=None, bias=0.0):
    """Each head of queries q [B, T, D] attends to keys k and values v [B, J, D] where the mask
    is open. A query without an open key gets 0."""
    q, k, v = split(q, heads), split(k, heads), split(v, heads)
    scores = q @ transposed(k) * FLOAT(scale) + single(bias)
    if mask is None:
        return merge(softmax(scores) @ v)
    weights = softmax(where(mask, scores, FLOAT(-3e38)))
    return merge(where(mask, weights, FLOAT(0)) @ v)


# ---- The model, function by function. p has the parameters of the part in question.


def part(weights, group=""):
    """The parameters of a part of the model, by their names in it, and those that all parts share."""
    return {name.removeprefix(g + "."): w for g in ("shared", "fixed", group) for name, w in weights.items() if name.startswith(g + ".")}


def embed_target(p, target_tokens):
    """target_tokens [B, T] -> x [B, T, 2]"""
    h, j = index(13, 2), index(2)
    target_token = where(j == 0, p["line.slope"] * f32(where(h < 10, h, 0)) * 0.25, p["line.rest"])
    return target_token[target_tokens]


def start(x):
    """x [B, T, 2] -> y [B, T, 2]"""
    return x


def loop_layer(p, x):
    """x [B, T, 2] -> y [B, T, 2]"""
    B, T, _ = x.shape
    t1 = broadcast(0.0, (B, T, 2,))
    i, j = index(T, 2), index(T)
    self_bias = where((i - j == 11) | (i - j == 23), p["self.here.more"] + 1.0, 0.0)
    self_attention = attention(t1, t1, x, 1, 0.70710677, mask=(j <= i) & ((i - j == 11) | (i - j == 23) | (i -
        j == 0) | (i - j == 12) | (i - j == 24)), bias=self_bias)
    self_o = self_attention * p["self.o.scalar"]
    self_sum = x + self_o
    ffn_norm = layernorm(self_sum, broadcast(1.0, (2,)), broadcast(0.0, (2,)), 1.0)
    ffn_in = ffn_norm @ p["ffn.in.w"]
    ffn_hidden = maximum(ffn_in, 0.0)
    ffn_out = ffn_hidden @ p["ffn.out.w"]
    return self_sum + ffn_out


def head(p, x):
    """x [B, T, 2] -> logits [B, T, 10]"""
    h, j = index(10, 2), index(2)
    head_output = where(j == 0, f32(h), p["parabola.bend"] * f32(h) * f32(h) * 0.25)
    return x @ transposed(head_output)


def decoder(weights, target_tokens, times=TIMES):
    """target_tokens [B, T] -> logits [B, T, vocabulary]"""
    embedded = embed_target(part(weights), target_tokens)
    x = start(embedded)
    for layer in range(1 * times):
        x = loop_layer(part(weights, f"loop.{layer % 1}"), x)
    logits = head(part(weights), x)
    return logits


class Model:
    """The model, with its parameters by name as arrays."""

    def __init__(self, weights):
        self.weights = weights

    def logits(self, tokens, times=TIMES):
        """tokens [B, T] -> logits [B, T, 10] of those that come next"""
        return decoder(self.weights, np.asarray(tokens), times)


# ---- Problems: how text becomes tokens, and tokens an answer.

VOCABULARY = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "^", "="]
TOKENS = {symbol: token for token, symbol in enumerate(VOCABULARY)}
END = 13  # the token that ends an answer
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"[:10]


def parse(problem):
    """The operands of a problem such as 123+456."""
    operands = [x.strip().lower() for x in problem.split("+")]
    bad = [x for x in operands if not x or x.strip(DIGITS)]
    if len(operands) != 2:
        bad = [problem]
    if bad:
        raise ValueError(f"{problem!r}: expected two numbers with a + between them, such as 123+456")
    operands = [x.lstrip("0") or "0" for x in operands]
    return operands


def padded(n):
    """How many places numbers are padded to that need so many."""
    return 11 + max(0, -(-(n - 11) // 1) * 1)


def width(operands):
    """The places of numbers of a problem: as many as the longest answer to such operands needs."""
    need = max(map(len, operands))
    for places in (need + 1, need):
        if padded(places) >= places:
            return padded(places)
    raise ValueError(f"a problem of {need} digits does not fit in numbers padded to {padded(need)}")


def number(x, places, reverse, fill="0"):
    """A number as it is written: widened, in its order."""
    sign, x = ("-", x[1:]) if x[0] == "-" else ("", x)
    x = x.rjust(places - len(sign), fill or x[0])
    if reverse:
        x = x[::-1]
    return x + sign if reverse else sign + x


def prompt(operands):
    """A problem as the model reads it."""
    places = width(operands)
    return "^" + "+".join(number(x, places, True) for k, x in enumerate(operands)) + "="


def encode(problem):
    """The tokens of a problem, up to the = before the answer."""
    return [TOKENS[symbol] for symbol in prompt(parse(problem))]


def room(problem):
    """The most tokens of an answer."""
    return width(parse(problem))


def text(tokens, problem=""):
    """An answer as people write it: in ordinary order, up to its end, without leading zeros."""
    x = "".join(VOCABULARY[token] for token in tokens if token != END)
    x = x[::-1]
    sign, x = ("-", x[1:]) if x[:1] == "-" else ("", x)
    return sign + (x.lstrip("0") or "0")


# ---- Answers.

def generate(model, prompt, most, times=TIMES):
    """Generic greedy decoding: the most likely token, again and again, up to the end, of at most so many."""
    tokens = list(prompt)
    while len(tokens) < len(prompt) + most:
        logits = model.logits([tokens], times)
        tokens.append(int(logits[0, len(tokens) - 1].argmax()))
        if tokens[-1] == END:
            break
    return tokens[len(prompt):]


def answer(problem, model=None, times=TIMES):
    """The model's answer to a problem such as 999+999, right or wrong."""
    model = model or build_model()[0]
    return text(generate(model, encode(problem), room(problem), times), problem)


def build_model():
    """The model, and what is to be said of it."""
    return Model(load()), {
        "name": "windows",
        "author": "mlc",
        "params": 9,  # trained, each once
        "architecture": "decoder-only, 1 layers run 1 times, width 2, 1 heads, relu 1",
        "tricks": ["attention bias", "answers lowest digit first", "operands lowest digit first"],
    }


def add(model, a, b):
    """The sum of two whole numbers, as the model has it."""
    return int(answer(f"{a}+{b}", model))


# ---- Parameters: float32, row-major.

WEIGHTS = {
    "loop.0.self.o.scalar": ((), [
        -13.993177,
    ]),
    "loop.0.self.here.more": ((), [
        1.4266677,
    ]),
    "loop.0.ffn.in.w": ((2, 1), [
        5.4033856, -7.7520194,
    ]),
    "loop.0.ffn.out.w": ((1, 2), [
        -11.20046, -0.051710337,
    ]),
    "shared.line.slope": ((), [
        -9.515449,
    ]),
    "shared.line.rest": ((), [
        -10.32968,
    ]),
    "shared.parabola.bend": ((), [
        -0.21797565,
    ]),
}


def load():
    """The parameters by name."""
    return {name: np.array(numbers, np.float32).reshape(shape) for name, (shape, numbers) in WEIGHTS.items()}


# What it was trained by.
SPEC = """
arith 2

task addition {
  operands   = below(bound = 10000000000, sampling = permutation, epochs = reordered)
  base       = 10
  vocabulary = used
  start      = true
  end        = false
  order      = reversed
  pad        = zero(to = 11, step = 1, answer = none)
  interleave = false
  hints      = none
  random_pad = 0%
  examples   = none
  holdout    = 1%
  split      = none
  loss_on    = answer
}

model {
  width   = 2
  heads   = 1
  ffn     = relu(hidden = 1, init = normal(1.5))
  norm    = layernorm(eps = 1, place = pre, gain = none, at = [ffn])
  dropout = 0%
  bias    = false
  head    = none
  output  = linear(adapter = false, tied = false, value = parabola)
  init    = xavier(biases = zero)

  embed {
    token    = learned(scale = 1, value = line)
    position = none
    norm     = none
  }

  decoder_only {
    layers = 1
    times  = 1
    inject = none
    state  = embed

    self {
      mask     = i - j == 11 || i - j == 23 || i - j == 0 || i - j == 12 || i - j == 24
      bias     = here
      rotary   = none
      relative = none
      q        = none
      k        = none
      v        = none
      o        = scalar(init = normal(3))
      scale    = 1 / sqrt(width / heads)
      dropout  = 0%
    }
  }
}

bias here {
  more  = learned([], init = normal(std = 1))
  value = where(i - j == 11 || i - j == 23, 1 + more, 0)
}

table line {
  slope = learned([], init = normal(std = 1))
  rest  = learned([], init = normal(std = 1))
  value = where(c == 0, slope * where(n < 10, n, 0) / 4, rest)
}

table parabola {
  bend  = learned([], init = normal(std = 1))
  value = where(c == 0, n, bend * n * n / 4)
}

train {
  loss            = cross_entropy
  label_smoothing = 0%
  reduce          = mean
  throttle        = none
  optimizer       = adam(lr = 0.3, betas = [0.9, 0.98], eps = 1e-9)
  average         = none
  schedule        = trapezoid(warmup = 5%, cooldown = 50%)
  clip            = none
  batch           = 32
  ramp            = none
  lengths         = sorted
  microbatch      = auto
  chunk           = auto
  budget          = 20ksteps
  report          = brief(every = auto, problems = 64)
  precision       = f32
  seed            = 0
  keep            = last
  stop            = none
}

eval {
  grid     = none
  diagonal = none
  digits   = [1, 5, 8, 9, 10]
  samples  = 2000
  pad      = zero(to = 11, step = 1, answer = none)
  metric   = exact_match
  mode     = verify
  times    = none
  settle   = none
  during   = none
}

vet {
  implausible_number = off
}
"""


if __name__ == "__main__":
    model, about = build_model()
    for problem in sys.argv[1:]:
        print(answer(problem, model))
    if not sys.argv[1:]:
        print(about)
