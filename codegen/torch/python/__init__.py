"""Attention with a learned bias, written by ``mlc attention``.

    >>> bias = Bias().cuda()
    >>> y = attention(query, key, value, bias)  # [B, H, T, D]

On CUDA the kernels of this folder run. float32 and, where the folder has kernels for it, bfloat16
are supported. Elsewhere attention is computed in operations of PyTorch. Gradients are the same in
every run. Under torch.compile, CUDA graphs and DistributedDataParallel attention is one operator.
The kernels refuse second derivatives, forward-mode derivatives and vmap; PyTorch's operations
support them.
"""

from typing import Literal, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from . import _op

__all__ = ["attention", "Bias"]
__version__ = str(_op.table["version"])


class Bias(nn.Module):
    """The parameters of the bias, initialised as the spec says. A bias that the caller gives has none.

    Learned ones are parameters of the module, the others buffers. They are used as float32,
    whatever the type of the module and of the tensors, and under autocast.

    Bounds hold as in projected gradient descent: a value beyond a bound counts as the bound, and
    its gradient is 0 if the step against it would lead further out. An optimizer may leave values
    beyond a bound; their next gradients lead back.

    Args:
        device: the device of the parameters.
    """

    _identity = _op.identity  # also of the module when it is imported again, so older objects stay usable

    def __init__(self, device: Optional[torch.device] = None) -> None:
        super().__init__()
        if _op.GIVEN:
            raise TypeError(
                "this attention takes a tensor [H, T, S] or [B, H, T, S] as bias: call attention(query, key, value, bias)"
            )
        if not _op.parameters:
            raise TypeError("this attention has no parameters of a bias: call attention(query, key, value)")
        for p in _op.parameters:
            value = torch.empty(p["shape"], dtype=torch.float32, device=device)
            if p["learned"]:
                self.register_parameter(p["attribute"], nn.Parameter(value))
            else:
                self.register_buffer(p["attribute"], value)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Sets all values as the spec says."""
        for p in _op.parameters:
            value, init = getattr(self, p["attribute"]), p["init"]
            if init["kind"] == "uniform":
                value.uniform_(init.get("low", 0), init.get("high", 0))
            elif init["kind"] == "normal":
                value.normal_(init.get("mean", 0), init.get("std", 0))
            else:
                value.copy_(torch.tensor(init["values"], dtype=torch.float32).reshape(p["shape"]))

    def forward(self) -> Tuple[Tensor, ...]:
        """Returns the parameters as attention takes them, float32 at least. Attention applies the bounds."""
        values = (getattr(self, p["attribute"]) for p in _op.parameters)
        return tuple(x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32) for x in values)

    def extra_repr(self) -> str:
        parts = []
        for p in _op.parameters:
            part = f"{p['attribute']}={list(p['shape'])}"
            if p["learned"] and p["min"] is not None:
                part += f" >= {p['min']:g}"
            if p["learned"] and p["max"] is not None:
                part += f" <= {p['max']:g}"
            parts.append(part if p["learned"] else part + " fixed")
        return f"{_op.table['name']}: " + ", ".join(parts)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Union[Bias, Tensor, None] = None,
    *,
    layout: Literal["bhtd", "bthd"] = "bhtd",
    cu_seqlens: Optional[Tensor] = None,
    max_seqlen: Optional[int] = None,
    cu_seqlens_k: Optional[Tensor] = None,
    max_seqlen_k: Optional[int] = None,
) -> Tensor:
    """Computes softmax(query · key + bias) · value, scaled and masked as the spec says.

    Args:
        query: [B, H, T, D], or [B, T, H, D] with ``layout="bthd"``, or [R, H, D] with ``cu_seqlens``. H and D
            are those of the spec.
        key: [B, H, S, D], [B, S, H, D] or [R, H, D], where H is the spec's number of heads of keys.
        value: as key.
        bias: the parameters of the bias. None if the bias has no parameters. If the spec says
            ``bias = given``, a tensor [B, H, T, S], [H, T, S] for all examples, or [T, S] for all heads,
            too, with 1 for a length that is repeated. With ``cu_seqlens``, B counts sequences, and T and S
            are the most rows of one. It is used as float32, also under autocast. -inf closes a key to a query.
        layout: "bhtd" or "bthd". Kernels read tensors where they lie. A tensor is copied if the elements of
            a head are not adjacent, or its rows not at multiples of 16 bytes.
        cu_seqlens: int32 [B + 1], the first row of each of B packed sequences, and the number of rows. Each
            sequence attends to its own keys.
        max_seqlen: the most rows of a sequence, at least. Without it, the host waits for the device to find it.
            With it, a GPU trusts cu_seqlens: rows beyond it are undefined.
        cu_seqlens_k: as cu_seqlens, for keys of other lengths than the queries'.
        max_seqlen_k: as max_seqlen, for cu_seqlens_k.

    Returns:
        A tensor in the shape and type of query; under autocast in autocast's type. Rows without a
        visible key are 0.
    """
    packed = None
    if cu_seqlens is not None:
        packed = _op.Packed(cu_seqlens, cu_seqlens_k, max_seqlen, max_seqlen_k)
    elif any(x is not None for x in (max_seqlen, cu_seqlens_k, max_seqlen_k)):
        raise TypeError("attention: max_seqlen, cu_seqlens_k or max_seqlen_k is given without cu_seqlens: give that, too")
    if _op.GIVEN:
        if not isinstance(bias, Tensor):
            has = "is missing" if bias is None else f"is a {type(bias).__module__}.{type(bias).__qualname__}"
            raise TypeError(f"attention: bias {has}, and must be a tensor [H, T, S] or [B, H, T, S]")
        return _op.attention(query, key, value, (bias,), layout, packed)
    if not _op.parameters:
        if bias is not None:
            raise TypeError("attention: bias is given, and this attention has no parameters of a bias: leave it out")
        return _op.attention(query, key, value, (), layout, packed)
    if bias is None or getattr(bias, "_identity", None) != _op.identity:
        has = "is missing" if bias is None else f"is a {type(bias).__module__}.{type(bias).__qualname__}"
        raise TypeError(
            f"attention: bias {has}, and must be a {Bias.__module__}.Bias of this package, made once by Bias()"
        )
    values = bias()
    for p, x in zip(_op.parameters, values):
        if isinstance(query, Tensor) and x.device != query.device:
            raise ValueError(
                f"attention: bias.{p['attribute']} is on {x.device} and query on {query.device}: "
                "move it by bias.to(query.device)"
            )
        if list(x.shape) != p["shape"]:
            raise ValueError(f"attention: bias.{p['attribute']} has shape {list(x.shape)}, and must have {p['shape']}")
    return _op.attention(query, key, value, values, layout, packed)
