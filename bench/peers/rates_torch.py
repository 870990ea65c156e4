"""Measures the rates that PyTorch's operations reach on a device, each apart from any model.

    python bench/peers/rates_torch.py matmul|attention|bias --device cpu|cuda [--reduced]

It prints a JSON list of rows. "missing" says why a row has no value, and "wrong" says
that a result is too far from its reference. A reduced run tests the script: sizes are
tiny, nothing is compiled for speed, and one call is timed.
"""

import argparse
import itertools
import json
import math
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

ROUNDS, ROUND = 5, 0.02  # s
SLEEP = 40_000_000  # clock cycles of a GPU, about 20 ms
CACHE = 100e6  # bytes, twice the L2 cache of an H100


@dataclass
class Bench:
    device: str
    reduced: bool

    def randn(self, *shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
        return torch.randn(shape, dtype=dtype, device=self.device)

    def round(self, call: Callable[[], object], count: int) -> float:
        """Seconds a call takes. A GPU first sleeps while Python enqueues the calls: it
        then never waits for Python, however short they are."""
        if self.device == "cuda":
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(SLEEP)
            first.record()
        start = time.perf_counter()
        for _ in range(count):
            call()
        if self.device == "cpu":
            return (time.perf_counter() - start) / count
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1e3 / count

    def times(self, call: Callable[[], object]) -> list[float]:
        if self.reduced:
            return [self.round(call, 1)]
        self.round(call, 3)
        # The queue of a GPU holds about 1000 launches.
        count = min(1000, max(3, math.ceil(ROUND / self.round(call, 3))))
        self.round(call, count)
        return [self.round(call, count) for _ in range(ROUNDS if self.device == "cuda" else 1)]


@dataclass
class Row:
    name: str
    unit: str
    value: float | None = None
    spread: float | None = None
    missing: str = ""
    wrong: str = ""

    def compare(self, of: str, got: Tensor, want: Tensor, bound: float) -> None:
        apart = float((got.detach().to(want) - want).norm() / want.norm())
        if not apart <= bound:  # NaN included
            self.wrong = self.wrong or f"{of} is {apart:.2g} from the reference, and {bound:g} is allowed"

    def time(self, times: list[float], flops: float = 0) -> None:
        best = min(times)
        self.value = flops / best / 1e12 if flops else best * 1e6
        self.spread = max(times) / best - 1 if len(times) > 1 else None


@contextmanager
def guard(*rows: Row) -> Iterator[None]:
    """A failure inside explains the rows that have no value yet."""
    try:
        yield
    except Exception as e:
        traceback.print_exc()
        while e.__cause__:
            e = e.__cause__
        for row in rows:
            if row.value is None:
                row.missing = " ".join(f"{type(e).__name__}: {e}".split())[:200]


# The type of operands, the setting of float32 products and the bound on the relative error.
PRECISIONS = {"bf16": (torch.bfloat16, "highest", 1e-2), "tf32": (torch.float32, "high", 1e-2),
              "fp32": (torch.float32, "highest", 1e-4)}
TOKENS = 1250, 9742, 19482, 32256
# Rows, terms of a sum and columns. The first operand of a weight gradient is transposed.
PRODUCTS = [("bf16", "", 8192, 8192, 8192), ("tf32", "", 8192, 8192, 8192), ("fp32", "", 4096, 4096, 4096),
            *(("bf16", "", m, 1024, n) for n in (1024, 3072, 2048) for m in TOKENS),
            *(("bf16", "dW ", 1024, m, 1024) for m in TOKENS)]


def matmul(b: Bench) -> Iterator[Row]:
    for precision, kind, *sizes in PRODUCTS:
        m, k, n = (max(16, size // 64) if b.reduced else size for size in sizes)
        row = Row(f"cublas {precision} {kind}{m} x {k} x {n}", "TFLOP/s")
        with guard(row):
            dtype, products, bound = PRECISIONS[precision]
            torch.set_float32_matmul_precision(products)
            # The calls cycle through so many operands that no cache holds them.
            sets = 1 if b.reduced else math.ceil(CACHE / ((m + n) * k * dtype.itemsize))
            operands = [{"input": b.randn(k, m, dtype=dtype).T if kind else b.randn(m, k, dtype=dtype),
                         "other": b.randn(k, n, dtype=dtype),
                         "out": torch.empty(m, n, dtype=dtype, device=b.device)} for _ in range(sets)]
            x, y = operands[0]["input"], operands[0]["other"]
            some = [0, m // 3, 2 * m // 3, m - 1]
            want = x[some].cpu().double() @ y.cpu().double()
            row.compare("the product", torch.matmul(**operands[0])[some], want, bound)
            turns = itertools.cycle(operands)
            row.time(b.times(lambda: torch.matmul(**next(turns))), 2 * m * k * n)
        yield row


HEADS, LENGTH, WIDTH = 16, 63, 64
Attend, Leaves = Callable[..., Tensor], dict[str, Tensor]


def parameters(tensors: Leaves) -> Leaves:
    return {name: x.detach().requires_grad_() for name, x in tensors.items()}


def inputs(b: Bench) -> tuple[Leaves, Tensor]:
    """q, k, v and the gradient of the output. Unless reduced, they exceed an L2 cache by far."""
    *qkv, grad = (b.randn(2 if b.reduced else 512, HEADS, LENGTH, WIDTH) for _ in range(4))
    return parameters(dict(zip("qkv", qkv))), grad


def reference(attend: Attend, leaves: Leaves, grad: Tensor) -> list[Tensor]:
    """The output and the gradients of all leaves, in float32."""
    xs = list(parameters({name: x.float() for name, x in leaves.items()}).values())
    out = attend(*xs)
    return [out.detach(), *torch.autograd.grad(out, xs, grad.float())]


def passes(b: Bench, name: str, attend: Attend, leaves: Leaves, grad: Tensor, want: list[Tensor], bound: float) -> list[Row]:
    rows = [Row(f"{name} forward", "µs"), Row(f"{name} backward", "µs"), Row(f"{name} bias gradient", "of 3 with the same bits")]
    forward, backward, repeats = rows
    xs = list(leaves.values())
    with guard(*rows):
        # On a GPU a forward pass saves tensors for a backward pass, as in training. On a
        # processor FlexAttention refuses inputs that require gradients.
        given = xs if b.device == "cuda" else [x.detach() for x in xs]
        forward.compare("the output", attend(*given), want[0], bound)
        forward.time(b.times(lambda: attend(*given)))

        # A backward pass is timed alone, again and again on the graph of one forward pass.
        gradients = partial(torch.autograd.grad, attend(*xs), xs, grad, retain_graph=True)
        for of, got, true in zip(leaves, gradients(), want[1:], strict=True):
            backward.compare(f"the gradient of {of}", got, true, bound)
        backward.time(b.times(gradients))
        first, *others = (gradients()[-1] for _ in range(3))
        repeats.value = 1.0 + sum(torch.equal(first, other) for other in others)
    return rows if "bias" in leaves else rows[:2]


causal = partial(F.scaled_dot_product_attention, is_causal=True)


def attention(b: Bench) -> Iterator[Row]:
    leaves, grad = inputs(b)
    with sdpa_kernel(SDPBackend.MATH):
        want = reference(causal, leaves, grad)
    for backend in "FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH":
        with sdpa_kernel(getattr(SDPBackend, backend)):
            yield from passes(b, f"sdpa {backend.split('_')[0].lower()}", causal, leaves, grad, want, 2e-2)
    yield from varlen(b, leaves, grad)


def varlen(b: Bench, leaves: Leaves, grad: Tensor) -> list[Row]:
    """Sequences have 23 to 63 positions and no padding. The reference pads them at the
    end, where a causal mask hides the padding."""
    from torch.nn.attention.varlen import varlen_attn

    lengths = torch.randint(23, LENGTH + 1, grad.shape[:1], generator=torch.Generator().manual_seed(0)).to(b.device)
    kept = torch.arange(LENGTH, device=b.device) < lengths[:, None]  # [B, T]

    def packed(x: Tensor) -> Tensor:
        """[B, H, T, D] -> [N, H, D]"""
        return x.transpose(1, 2)[kept]

    with sdpa_kernel(SDPBackend.MATH):
        want = [packed(x) for x in reference(causal, leaves, grad * kept[:, None, :, None])]
    starts, longest = F.pad(lengths.cumsum(0), (1, 0)).int(), int(lengths.max())

    leaves = parameters({name: packed(x) for name, x in leaves.items()})
    attend = partial(varlen_attn, cu_seq_q=starts, cu_seq_k=starts, max_q=longest, max_k=longest, window_size=(-1, 0))
    return passes(b, "varlen", attend, leaves, packed(grad), want, 2e-2)


# By default FlexAttention runs its decoding kernel forward and tiles of 64 x 128 backward.
# LENGTH fills half of such a tile. On an H100 PyTorch gives narrower heads these tiles.
TILES = {"BACKEND": "TRITON", "fwd_BLOCK_M": 64, "fwd_BLOCK_N": 64, "bwd_num_warps": 4,
         "bwd_BLOCK_M1": 64, "bwd_BLOCK_N1": 64, "bwd_BLOCK_M2": 64, "bwd_BLOCK_N2": 64}


def bias(b: Bench) -> Iterator[Row]:
    """The bias is learned in float32. Its gradient sums over the examples."""
    import torch._functorch.config
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    # Compiled backward passes must not reuse the memory of their inputs: they run again.
    torch._functorch.config.donated_buffer = False
    leaves, grad = inputs(b)
    leaves |= parameters({"bias": b.randn(HEADS, LENGTH, LENGTH, dtype=torch.float32)})
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=b.device).triu(1)
    # One block of 128 x 128 covers all positions. The kernels mask the rest of it.
    blocks = create_block_mask(lambda b, h, i, j: i >= j, None, None, LENGTH, LENGTH, device=b.device)

    def flex(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, options: dict | None = None) -> Tensor:
        bias = bias.to(q.dtype)
        return flex_attention(q, k, v, lambda score, b, h, i, j: score + bias[h, i, j], blocks, kernel_options=options)

    def sdpa(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        """PyTorch itself pads the rows of a mask for the efficient backend."""
        mask = bias.to(q.dtype).masked_fill(later, -math.inf)[None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def explicit(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        scores = q @ k.mT * WIDTH**-0.5 + bias.masked_fill(later, -math.inf)
        return scores.softmax(-1).to(v.dtype) @ v

    compiled = partial(torch.compile, fullgraph=True, dynamic=False, backend="eager" if b.reduced else "inductor")
    want = reference(explicit, leaves, grad)
    for name, attend in [("flex", compiled(flex)), ("flex tiles of 64", compiled(lambda *xs: flex(*xs, TILES))), ("sdpa", sdpa),
                         ("sdpa efficient", sdpa), ("explicit compiled", compiled(explicit))]:
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION) if name == "sdpa efficient" else nullcontext():
            yield from passes(b, name, attend, leaves, grad, want, 3e-2)


def main() -> None:
    subjects = {f.__name__: f for f in (matmul, attention, bias)}
    args = argparse.ArgumentParser()
    args.add_argument("subject", choices=subjects)
    args.add_argument("--device", choices=["cpu", "cuda"], required=True)
    args.add_argument("--reduced", action="store_true", help="to test the script")
    a = args.parse_args()
    # Only the rows go to the pipe, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    torch.manual_seed(0)
    for row in subjects[a.subject](Bench(a.device, a.reduced)):
        full = {key: x for key, x in vars(row).items() if x not in (None, "")}
        print(json.dumps(full, ensure_ascii=False), file=answers, flush=True)


if __name__ == "__main__":
    main()
