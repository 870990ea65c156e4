"""The operators of this package, their gradients, and the checks of arguments.

attention ─► _Attention, an autograd.Function ─► NAMESPACE::forward ─► kernels
                            its backward      ─► NAMESPACE::backward ─► kernels

Both operators are opaque to PyTorch, so torch.compile and CUDA graphs take them as they are. The
second derivative is refused by the gradient of NAMESPACE::backward, so no term of it is dropped.
"""

import hashlib
import inspect
import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import _driver, _reference

table: Dict[str, Any] = _driver.load_table()
parameters: List[Dict[str, Any]] = table["parameters"]
H, HK, D = table["heads"], table["key_heads"], table["width"]
_TABLE = table["table"]  # whether a program fills a table of the bias
GIVEN = table["given"]  # whether the caller gives that table, which is then the only parameter
_cells = _driver.formula(table["cells"])  # elements of a head in the table
_NAMES = ["table"] if GIVEN else [p["name"] for p in parameters]
_LEARNED = [0] if GIVEN else [i for i, p in enumerate(parameters) if p["learned"]]
_BOUNDS = [(None, None)] if GIVEN else [(p["min"], p["max"]) if p["learned"] else (None, None) for p in parameters]
_MOST = 1 << 31  # elements of a tensor


def _table_shape(T: int, S: int) -> Tuple[int, int]:
    return H, _cells(1, T, S, T)


def _takes(module: str, program: str, buffer: str) -> bool:
    """Reports whether a launch of a program takes the buffer."""
    launches = table["modules"][module]["programs"][program]["launches"]
    return any(buffer in launch["arguments"] for launch in launches)


# The types of tensors that have kernels, and whether their gradient needs the result.
_modules = {getattr(torch, name): _takes(name, "backward", "y") for name in table["modules"]}


#: The name of this attention, which no attention of another table has.
identity = "mlc_{}_{}".format(
    "".join(c if c.isalnum() else "_" for c in table["name"]),
    hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()[:8],
)


def _namespace() -> str:
    """Returns a name for the operators, which no other package has, nor an earlier import."""
    namespace, count = identity, 1
    while hasattr(getattr(torch.ops, namespace), "forward"):
        count += 1
        namespace = f"{identity}_{count}"
    return namespace


namespace = _namespace()
_library = torch.library.Library(namespace, "FRAGMENT")
_tensors = "".join(f", Tensor parameter{i}" for i in range(len(_NAMES)))
_library.define(
    f"forward(Tensor query, Tensor key, Tensor value{_tensors}) -> (Tensor, Tensor, Tensor{', Tensor' * _TABLE})"
)
_library.define(
    "backward(Tensor dy, Tensor query, Tensor key, Tensor value, Tensor? y, Tensor? table, Tensor largest, "
    f"Tensor norm{_tensors}) -> (Tensor, Tensor, Tensor{', Tensor' * len(_LEARNED)})"
)


def _bounded(values: Sequence[Tensor]) -> List[Tensor]:
    """Returns the parameters within their bounds."""
    return [x if low is None and high is None else x.clamp(low, high) for x, (low, high) in zip(values, _BOUNDS)]


def _projected(gradient: Tensor, x: Tensor, low: Optional[float], high: Optional[float]) -> Tensor:
    """Returns the gradient of a parameter, or 0 where the step against it would leave the bounds."""
    if low is not None:
        gradient = gradient.masked_fill((x <= low) & (gradient > 0), 0)
    if high is not None:
        gradient = gradient.masked_fill((x >= high) & (gradient < 0), 0)
    return gradient


def _ready(x: Tensor) -> Tensor:
    """Returns the tensor as kernels read it: contiguous, at a multiple of 16 bytes."""
    x = x.contiguous()
    return x if x.data_ptr() % 16 == 0 else x.clone()


def _session(x: Tensor) -> _driver.Session:
    if x.device.type != _driver.memory:
        raise RuntimeError(f"attention: {namespace} has kernels for CUDA, and the tensors are on {x.device}")
    return _driver.Session(table, str(x.dtype).partition(".")[2], x.device)


def _whole(**tensors: Tensor) -> Dict[str, Tuple[Tensor, int, int]]:
    return {name: (x, 0, 0) for name, x in tensors.items()}


def _forward(query: Tensor, key: Tensor, value: Tensor, *values: Tensor) -> Tuple[Tensor, ...]:
    B, T, _, _ = query.shape
    S = key.shape[1]
    y = query.new_empty(query.shape)
    largest = query.new_empty((B, T, H), dtype=torch.float32)
    norm = torch.empty_like(largest)
    buffers = _whole(q=_ready(query), k=_ready(key), v=_ready(value), y=y, largest=largest, norm=norm)
    given = _whole(**dict(zip(_NAMES, map(_ready, _bounded(values)))))
    with _session(query) as session:
        if not _TABLE:
            session.run("forward", B, T, S, {**buffers, **given})
            return y, largest, norm
        filled = largest.new_empty(_table_shape(T, S))
        buffers["table"] = given["table"] = (filled, 0, 0)
        session.run("table", 1, T, S, given)
        session.run("forward", B, T, S, buffers)
    return y, largest, norm, filled


def _backward(
    dy: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    y: Optional[Tensor],
    filled: Optional[Tensor],
    largest: Tensor,
    norm: Tensor,
    *values: Tensor,
) -> Tuple[Tensor, ...]:
    B, T, _, _ = query.shape
    S = key.shape[1]
    examples = dict(
        q=_ready(query), k=_ready(key), v=_ready(value), dy=_ready(dy), largest=_ready(largest), norm=_ready(norm)
    )
    if y is not None:
        examples["y"] = _ready(y)
    results = [x.new_empty(x.shape) for x in (query, key, value)]
    examples.update(zip(("dq", "dk", "dv"), results))
    given = _whole(**dict(zip(_NAMES, map(_ready, _bounded(values)))))
    shared = {**given, "table": (_ready(filled), 0, 0)} if filled is not None else given
    with _session(query) as session:
        if not _LEARNED:
            session.run("backward", B, T, S, {**_whole(**examples), **shared})
            return tuple(results)
        # Each group of examples has a table of gradients, however many run at once, so sums have one order.
        group = table["group"]
        groups, rest = divmod(B, group)
        tables = largest.new_empty((groups + (rest > 0), *_table_shape(T, S)))
        steps = {name: (x, group * x[0].numel() * x.element_size()) for name, x in examples.items()}
        steps["dtable"] = (tables, tables[0].numel() * tables.element_size())
        if groups:
            session.run(
                "backward", group, T, S, {**shared, **{name: (x, 0, s) for name, (x, s) in steps.items()}}, groups
            )
        if rest:
            session.run(
                "backward", rest, T, S, {**shared, **{name: (x, groups * s, 0) for name, (x, s) in steps.items()}}
            )
        dtable = tables
        if len(tables) > 1:
            dtable = tables.new_empty(_table_shape(T, S))
            session.run("sum_tables", len(tables), T, S, _whole(tables=tables, dtable=dtable))
        if GIVEN:
            return (*results, dtable.reshape(H, T, S))
        gradients = {f"d.{_NAMES[i]}": values[i].new_empty(values[i].shape) for i in _LEARNED}
        session.run("table_grad", 1, T, S, {**given, **_whole(dtable=dtable, **gradients)})
    return (*results, *(_projected(g, values[i], *_BOUNDS[i]) for g, i in zip(gradients.values(), _LEARNED)))


def _forward_fake(query: Tensor, key: Tensor, value: Tensor, *values: Tensor) -> Tuple[Tensor, ...]:
    B, T, _, _ = query.shape
    statistics = [query.new_empty((B, T, H), dtype=torch.float32) for _ in range(2)]
    tables = [query.new_empty(_table_shape(T, key.shape[1]), dtype=torch.float32)] * _TABLE
    return (query.new_empty(query.shape), *statistics, *tables)


def _backward_fake(dy: Tensor, query: Tensor, key: Tensor, value: Tensor, *others: Any) -> Tuple[Tensor, ...]:
    values = others[4:]
    return tuple(x.new_empty(x.shape) for x in (query, key, value, *(values[i] for i in _LEARNED)))


for _name, _kernel, _fake in (("forward", _forward, _forward_fake), ("backward", _backward, _backward_fake)):
    for _key in ("CPU", "CUDA"):
        _library.impl(_name, _kernel, _key)
    torch.library.register_fake(f"{namespace}::{_name}", _fake, lib=_library)

_ops = getattr(torch.ops, namespace)


def _setup(ctx: Any, inputs: Tuple[Tensor, ...], output: Tuple[Tensor, ...]) -> None:
    """Saves what the gradient needs."""
    query, key, value, *values = inputs
    y, largest, norm, *filled = output
    ctx.mark_non_differentiable(largest, norm, *filled)
    ctx.set_materialize_grads(False)
    saved = y if _modules.get(query.dtype) else None
    ctx.save_for_backward(query, key, value, saved, filled[0] if filled else None, largest, norm, *values)


def _gradient(ctx: Any, dy: Optional[Tensor], *_: Any) -> Tuple[Optional[Tensor], ...]:
    """Returns the gradients of the inputs. The kernels compute all of them, needed or not."""
    gradients: List[Optional[Tensor]] = [None] * (3 + len(_NAMES))
    if dy is not None:
        compute = _Gradient.apply if torch.is_grad_enabled() else _ops.backward.default
        gradients[0], gradients[1], gradients[2], *learned = compute(dy, *ctx.saved_tensors)
        for i, gradient in zip(_LEARNED, learned):
            gradients[3 + i] = gradient
    return tuple(gradients)


def _no_second(ctx: Any, *_: Any) -> None:
    raise NotImplementedError(
        "attention: its kernels have no second derivative: leave out create_graph=True, or compute on the CPU, "
        "where attention is differentiable any number of times"
    )


torch.library.register_autograd(f"{namespace}::forward", _gradient, setup_context=_setup, lib=_library)
torch.library.register_autograd(f"{namespace}::backward", _no_second, lib=_library)


class _Gradient(torch.autograd.Function):
    """The gradient under create_graph=True. It refuses a second derivative only if one is computed."""

    @staticmethod
    def forward(*tensors: Optional[Tensor]) -> Tuple[Tensor, ...]:
        return _ops.backward.default(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    backward = staticmethod(_no_second)


class _Attention(torch.autograd.Function):
    """Attention with its gradient. The operator alone has the same gradient, but not for torch.func."""

    @staticmethod
    def forward(*tensors: Tensor) -> Tuple[Tensor, ...]:
        return _ops.forward.default(*tensors)

    setup_context = staticmethod(_setup)
    backward = staticmethod(_gradient)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Tensor) -> None:
        raise NotImplementedError(
            "attention: vmap is not supported by its kernels: make the mapped dimension part of the batch, as in "
            "attention(query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1), bias)"
        )


class _Eager(_Attention):
    """Attention that refuses forward-mode derivatives in its own words. torch.compile takes no jvp."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        raise NotImplementedError(
            "attention: its kernels have no forward-mode derivative: use backward(), or compute on the CPU"
        )


# PyTorch asks for the signature at each call, which is half of the call's time without this.
_Attention.forward.__signature__ = inspect.signature(_Attention.forward)  # type: ignore[attr-defined]


class _Within(torch.autograd.Function):
    """Parameters within their bounds for PyTorch's operations, with the gradient that the kernels have."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*values: Tensor) -> Tuple[Tensor, ...]:
        return tuple(x.clone() if y is x else y for x, y in zip(values, _bounded(values)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Tensor, ...], output: Tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tuple[Tensor, ...]:
        return tuple(_projected(g, x, *bounds) for g, x, bounds in zip(gradients, ctx.saved_tensors, _BOUNDS))


_LAYOUTS = {"bhtd": ("B, H, T, D", 1, 2), "bthd": ("B, T, H, D", 2, 1)}  # and the dimensions of heads and of time


def _check(arguments: Dict[str, Tensor], layout: str) -> None:
    """Checks shapes, devices and types of queries, keys and values."""
    if layout not in _LAYOUTS:
        raise ValueError(f"attention: layout is {layout!r}, and must be 'bhtd' or 'bthd'")
    names, heads, time = _LAYOUTS[layout]
    query, key, value = arguments.values()
    for name, x in arguments.items():
        count = H if name == "query" else HK
        if x.dim() != 4:
            raise ValueError(f"attention: {name} has shape {list(x.shape)}, and must have four dimensions [{names}]")
        if x.shape[heads] != count or x.shape[3] != D:
            swapped = "bthd" if layout == "bhtd" else "bhtd"
            hint = f": for the other order say layout={swapped!r}" if x.shape[heads] != count == x.shape[time] else ""
            raise ValueError(
                f"attention: {name} has shape {list(x.shape)}, and [{names}] must have {count} heads of width {D}{hint}"
            )
        if x.shape[0] != query.shape[0]:
            raise ValueError(
                f"attention: {name} has shape {list(x.shape)} and query {list(query.shape)}: "
                "batches B differ: expand one"
            )
        if x.device != query.device:
            raise ValueError(f"attention: {name} is on {x.device} and query on {query.device}: move one by .to(device)")
        if not x.dtype.is_floating_point:
            raise TypeError(f"attention: {name} has type {x.dtype}, and must have a floating-point type")
        if x.dtype != query.dtype:
            raise TypeError(f"attention: {name} has type {x.dtype} and query {query.dtype}: convert one by .to(dtype)")
    if value.shape[time] != key.shape[time]:
        raise ValueError(
            f"attention: value has shape {list(value.shape)} and key {list(key.shape)}: lengths S differ, "
            "and each key has one value"
        )


def _expanded(bias: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """Checks a given bias and returns it as [H, T, S], in float32 at least. Autograd sums the gradients
    of what is repeated. Queries and keys are [B, T, H, D]."""
    shape = (H, query.shape[1], key.shape[1])
    if bias.layout != torch.strided:
        raise TypeError(f"attention: bias has the layout {bias.layout}, and must be dense: use bias.to_dense()")
    if not bias.dtype.is_floating_point:
        remedy = "write a mask into the spec, or give 0 and -inf" if bias.dtype == torch.bool else "use bias.float()"
        raise TypeError(f"attention: bias has type {bias.dtype}, and must have a floating-point type: {remedy}")
    if bias.dim() not in (2, 3) or any(n not in (1, most) for n, most in zip(reversed(bias.shape), reversed(shape))):
        remedy = ": all examples share one bias" if bias.dim() == 4 else ""
        raise ValueError(
            f"attention: bias has shape {list(bias.shape)}, and must have [H, T, S], here {list(shape)}, or 1 for a "
            f"length that is repeated, or [T, S] for all heads{remedy}"
        )
    if bias.device != query.device:
        raise ValueError(f"attention: bias is on {bias.device} and query on {query.device}: move one by .to(device)")
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    return bias.to(wide).expand(shape)


def _check_kernels(query: Tensor, key: Tensor) -> None:
    """Checks what kernels cannot do. Tensors are [B, T, H, D]."""
    if query.dtype not in _modules:
        types = " or ".join(map(str, _modules))
        remedy = "query.to(torch.bfloat16)" if torch.bfloat16 in _modules else "query.float()"
        raise TypeError(
            f"attention: query has type {query.dtype}, and kernels are for {types}: use {remedy}, and so for key and "
            "value; under autocast, give torch.autocast that dtype or leave attention out of it"
        )
    B, T, _, _ = query.shape
    S = key.shape[1]
    for name, count, shape in (
        ("query", B * T * H * D, query.shape),
        ("key", B * S * HK * D, key.shape),
        *([("the table of the bias", H * _cells(B, T, S, T), _table_shape(T, S))] if _TABLE else []),
        *([("bias", H * T * S, (H, T, S))] if GIVEN else []),
    ):
        if count >= _MOST:
            raise ValueError(
                f"attention: {name} has shape {list(shape)}, {count} elements, and kernels count fewer than 2**31: "
                "cut the batch or the lengths into parts"
            )


def _autocasts(kind: str) -> bool:
    """Reports whether autocast is on for a type of device."""
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def _nothing(query: Tensor, *others: Tensor) -> Tensor:
    """Returns zeros in the shape of the queries, with gradients of 0 for all tensors."""
    everything = torch.ones((), dtype=torch.bool, device=query.device)
    y = query.masked_fill(everything, 0)
    for x in others:
        y = y + x.masked_fill(everything, 0).sum().to(y.dtype)
    return y


def attention(query: Tensor, key: Tensor, value: Tensor, values: Sequence[Tensor], layout: str) -> Tensor:
    """Computes attention with checked parameters of the bias, or a given bias that is not checked."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, Tensor):
            raise TypeError(f"attention: {name} is a {type(x).__name__}, and must be a tensor")
        if x.layout != torch.strided:
            raise TypeError(f"attention: {name} has the layout {x.layout}, and must be dense: use a padded tensor")
    kind = query.device.type
    if _autocasts(kind) and query.dtype != torch.float64:
        dtype = torch.get_autocast_dtype(kind)
        query, key, value = (x.to(dtype) if x.dtype.is_floating_point else x for x in (query, key, value))
    _check({"query": query, "key": key, "value": value}, layout)
    if layout == "bhtd":
        query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    if GIVEN:
        values = [_expanded(values[0], query, key)]
    if 0 in (query.shape[0], query.shape[1], key.shape[1]):
        y = _nothing(query, key, value, *values)
    elif kind == _driver.memory:
        _check_kernels(query, key)
        function = _Attention if torch.compiler.is_compiling() else _Eager
        values = [x if x.dtype == torch.float32 else x.to(torch.float32) for x in values]
        y = function.apply(query, key, value, *values)[0]
    else:
        y = _in_pytorch(query, key, value, values)
    return y.transpose(1, 2) if layout == "bhtd" else y


def _in_pytorch(query: Tensor, key: Tensor, value: Tensor, values: Sequence[Tensor]) -> Tensor:
    """Computes attention in operations of PyTorch, in float32 at least."""
    dtype = query.dtype
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    values = [x.to(wide) for x in values]
    if any(bounds != (None, None) for bounds in _BOUNDS):
        values = _Within.apply(*values)
    given = dict(zip(_NAMES, values))
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    if not _autocasts(query.device.type):
        return _reference.forward(query, key, value, given).to(dtype)
    with torch.autocast(query.device.type, enabled=False):
        return _reference.forward(query, key, value, given).to(dtype)
