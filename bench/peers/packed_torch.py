"""The looped models in PyTorch on rows without padding."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.varlen import varlen_attn

import looped_torch
import models
import torch_peer
from looped_torch import Looped
from models import Model, State


def lengths(b: models.Batch) -> np.ndarray:
    """[B] rows of each example, up to its last label. Later rows change nothing, because
    attention is causal."""
    return b.labels.shape[1] - (b.labels != -1)[:, ::-1].argmax(1)


@torch.compiler.disable
def one_by_one(qkv: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """A processor attends to one example after another."""
    def attend(x: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(*x.permute(1, 2, 0, 3), is_causal=True).transpose(0, 1)

    return torch.cat([attend(x) for x in qkv.split(starts.diff().tolist())])


class Attention(looped_torch.Attention):
    """A row sees the earlier rows of its example."""

    def __init__(self, m: Model):
        super().__init__(m)
        self.longest = max(int(lengths(b).max()) for b in m.batches)

    def attend(self, qkv: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """[R, 3, H, D / H] -> [R, H, D / H]"""
        if not qkv.is_cuda:
            return one_by_one(qkv, starts)
        return varlen_attn(*qkv.unbind(1), starts, starts, self.longest, self.longest, window_size=(-1, 0))


class Packed(Looped):
    """A batch's rows [R] are its examples' rows, one example after another."""

    attention = Attention

    @staticmethod
    def inputs(b: models.Batch) -> tuple[np.ndarray, ...]:
        n = lengths(b)
        kept = np.arange(b.labels.shape[1]) < n[:, None]
        return *(x[kept] for x in Looped.inputs(b)), np.cumsum([0, *n])

    def compile(self, **how) -> None:
        """Graphs take any number of rows."""
        super().compile(dynamic=True, **how)

    def forward(self, tokens: torch.Tensor, rows: torch.Tensor, labels: torch.Tensor, starts: torch.Tensor,
                *draws: int) -> torch.Tensor:
        return super().forward(tokens, rows, labels, *draws, starts=starts.int())


class Peer(torch_peer.Peer):
    def __init__(self, m: Model, state: State, device: str, precision: str, backend: str):
        if not m.loop:
            raise SystemExit("the peer packed is for looped models")
        if device == "cuda" and precision != "bf16":
            raise SystemExit("PyTorch's attention of variable length needs --precision bf16 on a GPU")
        super().__init__(m, state, device, precision, backend)
        self.check(m)

    @staticmethod
    def model(m: Model) -> nn.Module:
        return Packed(m)

    def check(self, m: Model) -> None:
        """Compares the first batch's loss with the padded model's. Both have no noise."""
        padded = Looped(m).to(self.device)
        padded.load_state_dict(self.module.state_dict())
        padded.noise = self.module.noise = 0
        draws = m.loop.max_offset, m.loop.times - 1, 1
        with self.autocast():
            got = self.module(*self.batches[0], *draws).item()
            with torch.no_grad():
                want = padded(*self.tensors(Looped.inputs(m.batches[0])), *draws).item()
        self.module.noise = m.loop.noise
        if not abs(got - want) <= (5e-3 if self.precision == "bf16" else 1e-5) * abs(want):
            raise SystemExit(f"packed rows give another loss: {got:g}, padded {want:g}")
