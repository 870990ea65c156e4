def f32(x):
    return torch.as_tensor(x).to(torch.float32)


def i32(x):
    """x as integers, truncated towards zero."""
    return torch.as_tensor(x).to(torch.int64)


def pointwise(function):
    """The function, which also accepts plain numbers."""
    return lambda x: function(torch.as_tensor(x))


exp = pointwise(torch.exp)
log = pointwise(torch.log)
tanh = pointwise(torch.tanh)
sigmoid = pointwise(torch.sigmoid)
softplus = pointwise(torch.nn.functional.softplus)
erf = pointwise(torch.erf)
sin = pointwise(torch.sin)
cos = pointwise(torch.cos)
abs = pointwise(torch.abs)
sqrt = pointwise(torch.sqrt)
floor = pointwise(torch.floor)
not_ = pointwise(torch.logical_not)


def where(condition, a, b):
    return torch.where(torch.as_tensor(condition), a, b)


def minimum(a, b):
    return where(torch.as_tensor(a) < b, a, b)


def maximum(a, b):
    return where(torch.as_tensor(a) > b, a, b)


def div(a, b):
    """The quotient of integers, truncated towards zero."""
    return torch.div(torch.as_tensor(a), b, rounding_mode="trunc")


def mod(a, b):
    """The remainder of integers, with the sign of a."""
    return torch.fmod(torch.as_tensor(a), b)


def index(n, axes=1):
    """0 … n-1 along the first of several axes."""
    return torch.arange(n).reshape((n,) + (1,) * (axes - 1))


def broadcast(x, shape):
    return torch.as_tensor(x).expand(shape)


def transposed(x):
    return x.transpose(-2, -1)


def layernorm(x, gamma, beta, eps):
    return torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta, eps)


def rmsnorm(x, gamma, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * gamma


def split(x, heads):
    """[B, L, heads * N] -> [B, heads, L, N]"""
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def merge(x):
    """[B, heads, L, N] -> [B, L, heads * N]"""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def attention(q, k, v, heads, scale, mask=None, bias=0.0):
    """Each head of queries q [B, T, D] attends to keys k and values v [B, J, D] where the mask
    is open. A query without an open key yields 0."""
    q, k, v = split(q, heads), split(k, heads), split(v, heads)
    scores = q @ transposed(k) * scale + bias
    if mask is None:
        return merge(torch.softmax(scores, -1) @ v)
    weights = torch.softmax(where(mask, scores, -3e38), -1)
    return merge(where(mask, weights, 0.0) @ v)


def head_product(x, w, heads):
    """The part of x [B, L, heads * K] of each head, times w [K, N]."""
    return merge(split(x, heads) @ w)


def rotate(x, cos, sin, heads):
    """Rotary positions: turns elements n and r + n of each head by angle n of the row."""
    y = x.reshape(*x.shape[:2], heads, -1)
    r = cos.shape[-1]
    cos, sin = cos[:, None], sin[:, None]
    a, b = y[..., :r], y[..., r:2 * r]
    return torch.cat((a * cos - b * sin, b * cos + a * sin, y[..., 2 * r:]), -1).reshape(x.shape)


def repeat_heads(x, heads, group):
    """x [B, L, heads * N] with each head repeated."""
    return x.reshape(*x.shape[:2], heads, -1).repeat_interleave(group, 2).flatten(2)


def runs(member):
    """The number of each member in its run of members, from 1; 0 for other tokens."""
    place = index(member.shape[1]) + 1
    before = where(member, 0, place).cummax(1).values
    return where(member, place - before, 0)


def total(member):
    """The number of members up to each token."""
    return member.cumsum(1)


def words(counter, key):
    """Philox4x32-10 (Salmon et al. 2011): four random words of 32 bits for each counter."""
    low = 0xFFFFFFFF
    c, k = counter, key
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]  # the bits above 64 are not needed
        c = ((b >> 32 & low) ^ c[1] ^ k[0], b & low, (a >> 32 & low) ^ c[3] ^ k[1], a & low)
        k = (k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low)
    return torch.stack(torch.broadcast_tensors(*c), -1)


def noise(stream, T, D):
    """Standard normal numbers [1, T, D] from the seed of the run."""
    blocks = (2 * D + 3) // 4
    word = words((index(T * blocks), 0, 0, stream << 16), (SEED & 0xFFFFFFFF, SEED >> 32)).reshape(1, T, -1)
    uniform = [f32(w >> 8) for w in (word[..., :D], word[..., D:2 * D])]
    radius = sqrt(-2.0 * log((uniform[0] + 1.0) * 2.0**-24))
    return radius * cos(uniform[1] * (2 * math.pi * 2.0**-24))
