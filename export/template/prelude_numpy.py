FLOAT = np.float32


def f32(x):
    return np.asarray(x).astype(FLOAT)


def i32(x):
    """x as integers, truncated towards zero."""
    return np.asarray(x).astype(np.int64)


def single(x):
    """x, or x in single precision if it is a plain number."""
    return f32(x) if np.asarray(x).dtype == np.float64 else x


def pointwise(function):
    """The function, which also accepts plain numbers."""
    return lambda x: function(single(x))


exp = pointwise(np.exp)
log = pointwise(np.log)
tanh = pointwise(np.tanh)
sin = pointwise(np.sin)
cos = pointwise(np.cos)
abs = pointwise(np.abs)
sqrt = pointwise(np.sqrt)
floor = pointwise(np.floor)
not_ = np.logical_not


def sigmoid(x):
    return f32(1.0 / (1.0 + np.exp(-np.asarray(x, np.float64))))


def softplus(x):
    return f32(np.logaddexp(0.0, np.asarray(x, np.float64)))


def erf(x):
    return f32(np.vectorize(math.erf, otypes=[np.float64])(x))


def where(condition, a, b):
    return single(np.where(condition, a, b))


def minimum(a, b):
    return single(np.minimum(a, b))


def maximum(a, b):
    return single(np.maximum(a, b))


def div(a, b):
    """The quotient of integers, truncated towards zero."""
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


def mod(a, b):
    """The remainder of integers, with the sign of a."""
    return np.fmod(a, b)


def index(n, axes=1):
    """0 … n-1 along the first of several axes."""
    return np.arange(n).reshape((n,) + (1,) * (axes - 1))


def broadcast(x, shape):
    return np.broadcast_to(single(x), shape)


def transposed(x):
    return np.swapaxes(x, -2, -1)


def layernorm(x, gamma, beta, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + FLOAT(eps)) * gamma + beta


def rmsnorm(x, gamma, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + FLOAT(eps)) * gamma


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
    is open. A query without an open key yields 0."""
    q, k, v = split(q, heads), split(k, heads), split(v, heads)
    scores = q @ transposed(k) * FLOAT(scale) + single(bias)
    if mask is None:
        return merge(softmax(scores) @ v)
    weights = softmax(where(mask, scores, FLOAT(-3e38)))
    return merge(where(mask, weights, FLOAT(0)) @ v)


def head_product(x, w, heads):
    """The part of x [B, L, heads * K] of each head, times w [K, N]."""
    return merge(split(x, heads) @ w)


def rotate(x, cos, sin, heads):
    """Rotary positions: turns elements n and r + n of each head by angle n of the row."""
    y = x.reshape(*x.shape[:2], heads, -1)
    r = cos.shape[-1]
    cos, sin = cos[:, None], sin[:, None]
    a, b = y[..., :r], y[..., r:2 * r]
    return np.concatenate((a * cos - b * sin, b * cos + a * sin, y[..., 2 * r:]), -1).reshape(x.shape)


def repeat_heads(x, heads, group):
    """x [B, L, heads * N] with each head repeated."""
    return np.repeat(x.reshape(*x.shape[:2], heads, -1), group, 2).reshape(*x.shape[:2], -1)


def runs(member):
    """The number of each member in its run of members, from 1; 0 for other tokens."""
    place = index(member.shape[1]) + 1
    before = np.maximum.accumulate(where(member, 0, place), 1)
    return where(member, place - before, 0)


def total(member):
    """The number of members up to each token."""
    return np.cumsum(member, 1)


def words(counter, key):
    """Philox4x32-10 (Salmon et al. 2011): four random words of 32 bits for each counter."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    c, k = [np.asarray(x, np.uint64) for x in counter], [int(x) for x in key]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = ((b >> half) ^ c[1] ^ np.uint64(k[0]), b & low, (a >> half) ^ c[3] ^ np.uint64(k[1]), a & low)
        k = (k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF)
    return np.stack(np.broadcast_arrays(*c), -1).astype(np.int64)


def noise(stream, T, D):
    """Standard normal numbers [1, T, D] from the seed of the run."""
    blocks = (2 * D + 3) // 4
    word = words((index(T * blocks), 0, 0, stream << 16), (SEED & 0xFFFFFFFF, SEED >> 32)).reshape(1, T, -1)
    uniform = [f32(w >> 8) for w in (word[..., :D], word[..., D:2 * D])]
    radius = sqrt(-2.0 * log((uniform[0] + FLOAT(1)) * FLOAT(2.0**-24)))
    return radius * cos(uniform[1] * FLOAT(2 * math.pi * 2.0**-24))
