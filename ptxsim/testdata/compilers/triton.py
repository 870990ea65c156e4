"""Ordinary kernels for Triton. Needs no GPU:

    TRITON_DISABLE_LINE_INFO=1 python triton.py

The files here are by Triton 3.9.0. Every kernel takes two pointers of Triton's own
after its arguments, which are null; the first line of a file says how it is launched.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + tl.program_id(0) * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, T: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=T)
    for start in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + start + k[None, :], mask=(i[:, None] < M) & (start + k[None, :] < K), other=0)
        y = tl.load(b + (start + k[:, None]) * N + j[None, :], mask=(start + k[:, None] < K) & (j[None, :] < N), other=0)
        acc = tl.dot(x, y, acc, out_dtype=T)
    tl.store(c + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def attention(q, k, v, o, L, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    queries = tl.load(q + i[:, None] * D + d[None, :], mask=i[:, None] < L, other=0.0)
    m = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, L, BN):
        j = start + tl.arange(0, BN)
        keys = tl.load(k + j[None, :] * D + d[:, None], mask=j[None, :] < L, other=0.0)
        s = tl.where(j[None, :] < L, tl.dot(queries, keys) * scale, -float("inf"))
        top = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - top[:, None])
        shrink = tl.exp2(m - top)
        total = total * shrink + tl.sum(p, 1)
        values = tl.load(v + j[:, None] * D + d[None, :], mask=j[:, None] < L, other=0.0)
        acc = tl.dot(p.to(values.dtype), values, acc * shrink[:, None])
        m = top
    tl.store(o + i[:, None] * D + d[None, :], acc / total[:, None], mask=i[:, None] < L)


@triton.jit
def count(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@triton.jit
def cumsum(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.cumsum(tl.load(x + i, mask=i < n, other=0), 0), mask=i < n)


@triton.jit
def transpose(x, y, M, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + i[:, None] * N + j[None, :], mask=(i[:, None] < M) & (j[None, :] < N))
    tl.store(y + j[:, None] * M + i[None, :], tl.trans(v), mask=(j[:, None] < N) & (i[None, :] < M))


@triton.jit
def sort(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.sort(tl.load(x + i)))


@triton.jit
def locked(x, y, lock, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(y + i, tl.load(y + i) + v)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit(noinline=True)
def tripled(x, y, i):
    tl.store(y + i, tl.load(x + i) * 3)


@triton.jit
def called(x, y):
    tripled(x, y, tl.program_id(0))


def write(name, kernel, types, aligned=(), stages=3, **constants):
    names = [n for n in kernel.arg_names if n not in constants]
    signature = dict(zip(names, types)) | {n: "constexpr" for n in constants}
    attrs = {(kernel.arg_names.index(n),): [["tt.divisibility", 16]] for n in aligned}
    source = ASTSource(kernel, signature, constexprs=constants, attrs=attrs)
    out = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4, "num_stages": stages})
    with open(f"triton-{name}.ptx", "w") as f:
        f.write(f"// {kernel.__name__}: blocks of 128, {out.metadata.shared} bytes of shared memory\n")
        f.write(out.asm["ptx"].split("\t.section\t.debug")[0])


write("add", add, ["*fp32"] * 3 + ["i32"], aligned="xyzn", B=512)
write("softmax", softmax, ["*fp32"] * 2 + ["i32"], B=256)
write("matmul-f16", matmul, ["*fp16"] * 2 + ["*fp32"] + ["i32"] * 3, aligned="abcMNK", BM=32, BN=32, BK=32, T=tl.float32)
write("matmul-s8", matmul, ["*i8"] * 2 + ["*i32"] + ["i32"] * 3, BM=32, BN=32, BK=32, T=tl.int32)
write("attention", attention, ["*bf16"] * 3 + ["*fp32", "i32", "fp32"], aligned="qkvo", BM=32, BN=32, D=32)
write("count", count, ["*i32"] * 2 + ["i32"], B=256)
write("cumsum", cumsum, ["*i32"] * 2 + ["i32"], B=256)
write("transpose", transpose, ["*fp32"] * 2 + ["i32"] * 2, aligned="xyMN", B=32)
write("sort", sort, ["*i32"] * 2, B=64)
write("locked", locked, ["*fp32"] * 2 + ["*i32"], B=128)
write("called", called, ["*fp32"] * 2)
