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
_TABLES_BYTES = 1 << 28  # of gradients of tables at once


def _table_shape(T: int, S: int) -> Tuple[int, int]:
    return H, _cells(T=T, S=S, C=T)


def _takes(module: str, program: str, buffer: str) -> bool:
    """Reports whether a launch of a program takes the buffer."""
    launches = table["modules"][module]["programs"][program]["launches"]
    return any(buffer in launch["arguments"] for launch in launches)


# The types of tensors that have kernels, and whether their gradient needs the result.
_modules = {getattr(torch, name): _takes(name, "backward", "y") for name in table["modules"]}
_UNITS = {getattr(torch, name): module["unit"] for name, module in table["modules"].items()}
_PACKED = all("packed_forward" in module["programs"] for module in table["modules"].values())


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
_sequences = "Tensor? rows, Tensor? keys, SymInt T, SymInt S"  # of packed tensors; without rows and keys, T and S are 0
_library.define(
    f"forward(Tensor query, Tensor key, Tensor value, {_sequences}{_tensors}) -> "
    f"(Tensor, Tensor, Tensor{', Tensor' * _TABLE})"
)
_library.define(
    "backward(Tensor dy, Tensor query, Tensor key, Tensor value, Tensor? y, Tensor? table, Tensor largest, "
    f"Tensor norm, {_sequences}{_tensors}) -> (Tensor, Tensor, Tensor{', Tensor' * len(_LEARNED)})"
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


class _Numbers(Dict[str, int]):
    """The numbers of a launch. They include the distances of examples, rows and heads."""

    def place(self, name: str, x: Tensor) -> Tensor:
        """Adds the distances of a tensor [B, T, H, D] or [R, H, D], and returns it. It is a copy if its
        elements are not adjacent, or its rows not at multiples of 16 bytes where kernels need them."""
        unit = _UNITS[x.dtype]
        sizes, strides = x.shape, x.stride()
        distances = [0 if size == 1 else stride for size, stride in zip(sizes[:-1], strides)]
        last = sum(distance * (size - 1) for distance, size in zip(distances, sizes))
        adjacent = strides[-1] == 1 or sizes[-1] == 1
        if not adjacent or any(d % unit for d in distances) or last + D > _MOST or unit > 1 and x.data_ptr() % 16:
            x = _ready(x)
            distances = list(x.stride()[:-1])
        if len(distances) == 2:
            distances.insert(0, 0)
        for distance, what in zip(distances, ("example", "row", "head")):
            self[f"{name}_{what}"] = distance // unit
        return x


def _numbers(B: int, T: int, S: int) -> _Numbers:
    return _Numbers(B=B, T=T, S=S, C=T)


def _session(x: Tensor) -> _driver.Session:
    if x.device.type != _driver.memory:
        raise RuntimeError(f"attention: {namespace} has kernels for CUDA, and the tensors are on {x.device}")
    return _driver.Session(table, str(x.dtype).partition(".")[2], x.device)


def _whole(**tensors: Tensor) -> Dict[str, Tuple[Tensor, int, int]]:
    return {name: (x, 0, 0) for name, x in tensors.items()}


def _parts(examples: int, **tensors: Tensor) -> Dict[str, Tuple[Tensor, int, int]]:
    """Returns buffers of replicas. Each replica takes so many places of the first dimension."""
    return {name: (x, 0, x.stride(0) * x.element_size() * examples) for name, x in tensors.items()}


def _by_example(values: Sequence[Tensor]) -> bool:
    """Reports whether the bias is a tensor [B, H, T, S]. Then each example is a replica."""
    return GIVEN and values[0].dim() == 4


def _sizes(query: Tensor, key: Tensor, rows: Optional[Tensor], T: int, S: int) -> Tuple[int, int, int]:
    """Returns the number of examples, and the most queries and keys of one."""
    if rows is not None:
        return rows.shape[0] - 1, T, S
    return query.shape[0], query.shape[1], key.shape[1]


def _located(starts: Tensor, row: str, examples: int) -> Dict[str, Tensor]:
    """Returns the first row of each sequence and its length, with empty sequences up to a number of examples."""
    more = examples + 1 - starts.shape[0]
    first, lengths = starts[:-1], starts[1:] - starts[:-1]
    if more:
        first, lengths = (torch.nn.functional.pad(x, (0, more)) for x in (first, lengths))
    return {f"{row}_start": _ready(first), f"{row}_length": lengths}


def _forward(
    query: Tensor, key: Tensor, value: Tensor, rows: Optional[Tensor], keys: Optional[Tensor], T: int, S: int,
    *values: Tensor,
) -> Tuple[Tensor, ...]:
    B, T, S = _sizes(query, key, rows, T, S)
    each = _by_example(values)
    numbers, program, replicas = _numbers(1 if each else B, T, S), "forward", B if each else 1
    y = query.new_empty(query.shape)
    largest = query.new_empty(query.shape[:-1], dtype=torch.float32)
    norm = torch.empty_like(largest)
    packed, examples = rows is not None and keys is not None, int(each)
    buffers = _parts(
        0 if packed else examples,
        q=numbers.place("q", query), k=numbers.place("k", key), v=numbers.place("v", value),
        y=y, largest=largest, norm=norm,
    )  # fmt: skip
    if rows is not None and keys is not None:
        program = "packed_forward"
        numbers.update(R=query.shape[0], RK=key.shape[0])
        buffers.update(_parts(examples, **_located(rows, "example", B), **_located(keys, "key", B)))
    given = _parameters(values)
    with _session(query) as session:
        if not _TABLE:
            session.run(program, numbers, {**buffers, **given}, replicas)
            return y, largest, norm
        filled = largest.new_empty(_table_shape(T, S))
        buffers["table"] = given["table"] = (filled, 0, 0)
        session.run("table", _numbers(1, T, S), given)
        session.run(program, numbers, buffers)
    return y, largest, norm, filled


def _parameters(values: Sequence[Tensor]) -> Dict[str, Tuple[Tensor, int, int]]:
    """Returns the buffers of the bias: its parameters within their bounds, or what is given."""
    tensors = dict(zip(_NAMES, map(_ready, _bounded(values))))
    return _parts(1, **tensors) if _by_example(values) else _whole(**tensors)


def _summed(session: _driver.Session, tables: Tensor, T: int, S: int) -> Tensor:
    """Returns the sum of tables, one after the other."""
    if len(tables) == 1:
        return tables[0]
    dtable = tables.new_empty(_table_shape(T, S))
    session.run("sum_tables", _numbers(len(tables), T, S), _whole(tables=tables, dtable=dtable))
    return dtable


def _backward(
    dy: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    y: Optional[Tensor],
    filled: Optional[Tensor],
    largest: Tensor,
    norm: Tensor,
    rows: Optional[Tensor],
    keys: Optional[Tensor],
    T: int,
    S: int,
    *values: Tensor,
) -> Tuple[Tensor, ...]:
    B, T, S = _sizes(query, key, rows, T, S)
    # Each group of examples has a table of gradients, however many run at once, so sums have one order.
    each = _by_example(values)
    group = 1 if each else table["group"] if _LEARNED else B
    groups = -(-B // group)
    numbers = _numbers(group, T, S)
    results = [x.new_empty(x.shape) for x in (query, key, value)]
    tensors = {name: numbers.place(name, x) for name, x in zip("qkv", (query, key, value))}
    tensors["dy"] = numbers.place("dy", dy)
    tensors.update(zip(("dq", "dk", "dv"), results), largest=_ready(largest), norm=_ready(norm))
    if y is not None:
        tensors["y"] = _ready(y)
    given = _parameters(values)
    shared = {**given, "table": (_ready(filled), 0, 0)} if filled is not None else given
    with _session(query) as session:
        dtable = None
        if rows is not None and keys is not None:
            numbers.update(R=query.shape[0], RK=key.shape[0])
            located = {**_located(rows, "example", groups * group), **_located(keys, "key", groups * group)}
            buffers = {**shared, **_whole(**tensors), **_parts(group, **located)}
            if _LEARNED:
                tables = largest.new_empty((groups, *_table_shape(T, S)))
                buffers.update(_parts(1, dtable=tables))
            session.run("packed_backward", numbers, buffers, groups)
            if _LEARNED:
                dtable = tables if each else _summed(session, tables, T, S)
        else:
            whole = {**shared, **_parts(group, **tensors)}
            most = groups
            if _LEARNED:  # by parts of the batch, which begin with the sum of the parts before
                cells = H * _table_shape(T, S)[1]
                most = groups if each else min(groups, max(1, _TABLES_BYTES // (4 * cells)))
                tables = largest.new_empty((most + (most < groups), *_table_shape(T, S)))
            for part in range(0, groups, most):
                count = min(groups - part, most)
                begins = int(part > 0)
                if dtable is not None:
                    tables[0].copy_(dtable)
                rest = B % group if part + count == groups else 0
                for examples, first, replicas in (
                    (group, part, count - (rest > 0)),
                    (rest, groups - 1, int(rest > 0)),
                ):
                    if replicas:
                        buffers = {name: (x, first * step, step) for name, (x, _, step) in whole.items()}
                        if _LEARNED:
                            buffers["dtable"] = (tables, 4 * cells * (begins + first - part), 4 * cells)
                        numbers["B"] = examples
                        session.run("backward", numbers, buffers, replicas)
                if _LEARNED:
                    dtable = tables if each else _summed(session, tables[: begins + count], T, S)
        if dtable is None:
            return tuple(results)
        if GIVEN:
            return (*results, dtable.reshape(values[0].shape))
        gradients = {f"d.{_NAMES[i]}": values[i].new_empty(values[i].shape) for i in _LEARNED}
        session.run("table_grad", _numbers(1, T, S), {**given, **_whole(dtable=dtable, **gradients)})
    return (*results, *(_projected(g, values[i], *_BOUNDS[i]) for g, i in zip(gradients.values(), _LEARNED)))


def _forward_fake(
    query: Tensor, key: Tensor, value: Tensor, rows: Optional[Tensor], keys: Optional[Tensor], T: int, S: int,
    *values: Tensor,
) -> Tuple[Tensor, ...]:
    _, T, S = _sizes(query, key, rows, T, S)
    statistics = [query.new_empty(query.shape[:-1], dtype=torch.float32) for _ in range(2)]
    tables = [query.new_empty(_table_shape(T, S), dtype=torch.float32)] * _TABLE
    return (query.new_empty(query.shape), *statistics, *tables)


def _backward_fake(dy: Tensor, query: Tensor, key: Tensor, value: Tensor, *others: Any) -> Tuple[Tensor, ...]:
    values = others[8:]
    return tuple(x.new_empty(x.shape) for x in (query, key, value, *(values[i] for i in _LEARNED)))


for _name, _kernel, _fake in (("forward", _forward, _forward_fake), ("backward", _backward, _backward_fake)):
    for _key in ("CPU", "CUDA"):
        _library.impl(_name, _kernel, _key)
    torch.library.register_fake(f"{namespace}::{_name}", _fake, lib=_library)

_ops = getattr(torch.ops, namespace)


def _setup(ctx: Any, inputs: Tuple[Tensor, ...], output: Tuple[Tensor, ...]) -> None:
    """Saves what the gradient needs."""
    query, key, value, rows, keys, ctx.T, ctx.S, *values = inputs
    y, largest, norm, *filled = output
    ctx.mark_non_differentiable(largest, norm, *filled)
    ctx.set_materialize_grads(False)
    saved = y if _modules.get(query.dtype) else None
    ctx.save_for_backward(query, key, value, saved, filled[0] if filled else None, largest, norm, rows, keys, *values)


def _gradient(ctx: Any, dy: Optional[Tensor], *_: Any) -> Tuple[Optional[Tensor], ...]:
    """Returns the gradients of the inputs. The kernels compute all of them, needed or not."""
    gradients: List[Optional[Tensor]] = [None] * (7 + len(_NAMES))
    if dy is not None:
        compute = _Gradient.apply if torch.is_grad_enabled() else _ops.backward.default
        saved = ctx.saved_tensors
        gradients[0], gradients[1], gradients[2], *learned = compute(dy, *saved[:9], ctx.T, ctx.S, *saved[9:])
        for i, gradient in zip(_LEARNED, learned):
            gradients[7 + i] = gradient
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
    def forward(*arguments: Any) -> Tuple[Tensor, ...]:
        return _ops.backward.default(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    backward = staticmethod(_no_second)


class _Attention(torch.autograd.Function):
    """Attention with its gradient. The operator alone has the same gradient, but not for torch.func."""

    @staticmethod
    def forward(*arguments: Any) -> Tuple[Tensor, ...]:
        return _ops.forward.default(*arguments)

    setup_context = staticmethod(_setup)
    backward = staticmethod(_gradient)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> None:
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
            hint = ": for packed tensors [R, H, D] give cu_seqlens" if x.dim() == 3 else ""
            raise ValueError(
                f"attention: {name} has shape {list(x.shape)}, and must have four dimensions [{names}]{hint}"
            )
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
    _check_alike(arguments)
    if value.shape[time] != key.shape[time]:
        raise ValueError(
            f"attention: value has shape {list(value.shape)} and key {list(key.shape)}: lengths S differ, "
            "and each key has one value"
        )


def _check_alike(arguments: Dict[str, Tensor]) -> None:
    """Checks devices and types of queries, keys and values."""
    query = arguments["query"]
    for name, x in arguments.items():
        if x.device != query.device:
            raise ValueError(f"attention: {name} is on {x.device} and query on {query.device}: move one by .to(device)")
        if not x.dtype.is_floating_point:
            raise TypeError(f"attention: {name} has type {x.dtype}, and must have a floating-point type")
        if x.dtype != query.dtype:
            raise TypeError(f"attention: {name} has type {x.dtype} and query {query.dtype}: convert one by .to(dtype)")


class Packed:
    """Sequences of several lengths in packed tensors: the first row of each, and the number of rows in all.

    Args:
        rows: int32 [B + 1], of queries.
        keys: int32 [B + 1], of keys; None if keys have the rows of queries.
        T, S: the most queries and keys of a sequence; None asks the device.
    """

    def __init__(self, rows: Tensor, keys: Optional[Tensor], T: Optional[int], S: Optional[int]) -> None:
        self.own = keys is not None
        self.rows, self.keys = rows, rows if keys is None else keys
        self.T, self.S = T, T if keys is None else S

    def check(self, arguments: Dict[str, Tensor]) -> None:
        """Checks shapes, devices and types, and finds lengths that are not given."""
        if not _PACKED:
            raise ValueError(
                "attention: cu_seqlens is given, and the spec's mask or bias reads I or J, the numbers of queries and "
                "keys: call attention for each sequence, or write the spec without them"
            )
        query, key, value = arguments.values()
        for name, x in arguments.items():
            count = H if name == "query" else HK
            if x.dim() != 3 or x.shape[1] != count or x.shape[2] != D:
                raise ValueError(
                    f"attention: {name} has shape {list(x.shape)}, and packed tensors must have three dimensions "
                    f"[R, {count}, {D}]: rows of all sequences, heads, and the width of a head"
                )
        _check_alike(arguments)
        if key.shape != value.shape:
            raise ValueError(
                f"attention: value has shape {list(value.shape)} and key {list(key.shape)}: rows differ, "
                "and each key has one value"
            )
        if not self.own and key.shape[0] != query.shape[0]:
            raise ValueError(
                f"attention: key has {key.shape[0]} rows and query {query.shape[0]}: give cu_seqlens_k for keys of "
                "other lengths"
            )
        for name, x in (("cu_seqlens", self.rows), ("cu_seqlens_k", self.keys)):
            if not isinstance(x, Tensor) or x.dtype != torch.int32 or x.dim() != 1 or x.shape[0] < 1:
                has = f"{list(x.shape)} of {x.dtype}" if isinstance(x, Tensor) else f"a {type(x).__name__}"
                raise TypeError(f"attention: {name} is {has}, and must be a tensor [B + 1] of torch.int32")
            if x.device != query.device:
                raise ValueError(
                    f"attention: {name} is on {x.device} and query on {query.device}: move it by .to(device)"
                )
        if self.rows.shape != self.keys.shape:
            raise ValueError(
                f"attention: cu_seqlens has {self.rows.shape[0]} elements and cu_seqlens_k {self.keys.shape[0]}: "
                "each sequence has queries and keys"
            )
        self.T = self._longest("cu_seqlens", self.rows, query.shape[0], "max_seqlen", self.T)
        if not self.own:
            self.S = self.T
        else:
            self.S = self._longest("cu_seqlens_k", self.keys, key.shape[0], "max_seqlen_k", self.S)

    @staticmethod
    def _longest(name: str, starts: Tensor, rows: int, limit: str, most: Optional[int]) -> int:
        """Returns the most rows of a sequence. It checks the starts if it is not given, or if they are at hand."""
        if most is not None and starts.device.type != "cpu":
            return most
        all_ = starts.tolist()
        lengths = [b - a for a, b in zip(all_, all_[1:])]
        if all_[0] != 0 or all_[-1] != rows or any(n < 0 for n in lengths):
            raise ValueError(
                f"attention: {name} must go up from 0 to the {rows} rows of the tensor, and goes from {all_[0]} to "
                f"{all_[-1]}{' with steps down' if any(n < 0 for n in lengths) else ''}"
            )
        longest = max(lengths, default=0)
        if most is not None and longest > most:
            raise ValueError(f"attention: a sequence of {name} has {longest} rows, more than {limit}={most}")
        return longest if most is None else most


def _expanded(bias: Tensor, query: Tensor, B: int, T: int, S: int) -> Tensor:
    """Checks a given bias and returns it as [H, T, S], or [B, H, T, S] if examples differ, in float32 at
    least. Autograd sums the gradients of what is repeated."""
    shape = (B, H, T, S)
    if bias.layout != torch.strided:
        raise TypeError(f"attention: bias has the layout {bias.layout}, and must be dense: use bias.to_dense()")
    if not bias.dtype.is_floating_point:
        remedy = "write a mask into the spec, or give 0 and -inf" if bias.dtype == torch.bool else "use bias.float()"
        raise TypeError(f"attention: bias has type {bias.dtype}, and must have a floating-point type: {remedy}")
    if bias.dim() not in (2, 3, 4) or any(n not in (1, most) for n, most in zip(reversed(bias.shape), reversed(shape))):
        raise ValueError(
            f"attention: bias has shape {list(bias.shape)}, and must have [B, H, T, S], here {list(shape)}, or 1 for a "
            "length that is repeated, or [H, T, S] for all examples, or [T, S] for all heads, too"
        )
    if bias.device != query.device:
        raise ValueError(f"attention: bias is on {bias.device} and query on {query.device}: move one by .to(device)")
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    if bias.dim() == 4 and bias.shape[0] == 1:
        bias = bias[0]
    return bias.to(wide).expand(shape[4 - max(3, bias.dim()) :])


def _check_kernels(query: Tensor, key: Tensor, T: int, S: int) -> None:
    """Checks what kernels cannot do."""
    if query.dtype not in _modules:
        types = " or ".join(map(str, _modules))
        remedy = "query.to(torch.bfloat16)" if torch.bfloat16 in _modules else "query.float()"
        raise TypeError(
            f"attention: query has type {query.dtype}, and kernels are for {types}: use {remedy}, and so for key and "
            "value; under autocast, give torch.autocast that dtype or leave attention out of it"
        )
    for name, count, shape in (
        ("query", query.numel(), query.shape),
        ("key", key.numel(), key.shape),
        *([("the table of the bias", H * _table_shape(T, S)[1], _table_shape(T, S))] if _TABLE else []),
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


def attention(
    query: Tensor, key: Tensor, value: Tensor, values: Sequence[Tensor], layout: str, packed: Optional[Packed] = None
) -> Tensor:
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
    arguments = {"query": query, "key": key, "value": value}
    rows = keys = None
    transposed = False
    if packed is not None:
        packed.check(arguments)
        rows, keys, T, S = packed.rows, packed.keys, packed.T or 0, packed.S or 0
    else:
        _check(arguments, layout)
        transposed = layout == "bhtd"
        if transposed:
            query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
        T, S = query.shape[1], key.shape[1]
    if GIVEN:
        B = query.shape[0] if rows is None else rows.shape[0] - 1
        values = [_expanded(values[0], query, B, T, S)]
    if 0 in (query.shape[0], key.shape[0], T, S):
        y = _nothing(query, key, value, *values)
    elif kind == _driver.memory:
        _check_kernels(query, key, T, S)
        function = _Attention if torch.compiler.is_compiling() else _Eager
        values = [x if x.dtype == torch.float32 else x.to(torch.float32) for x in values]
        lengths = (0, 0) if rows is None else (T, S)
        y = function.apply(query, key, value, rows, keys, *lengths, *values)[0]
    elif rows is None or keys is None:
        y = _in_pytorch(query, key, value, values)
    else:
        y = _each_in_pytorch(query, key, value, rows.tolist(), keys.tolist(), values)
    return y.transpose(1, 2) if transposed else y


def _each_in_pytorch(
    query: Tensor, key: Tensor, value: Tensor, rows: List[int], keys: List[int], values: Sequence[Tensor]
) -> Tensor:
    """Computes attention of each packed sequence by itself."""
    results = []
    for n, (first, end, key_first, key_end) in enumerate(zip(rows, rows[1:], keys, keys[1:])):
        q, k, v = query[first:end], key[key_first:key_end], value[key_first:key_end]
        given = values
        if GIVEN:
            bias = values[0][n] if _by_example(values) else values[0]
            given = [bias[:, : len(q), : len(k)]]
        if len(q) and len(k):
            results.append(_in_pytorch(q[None], k[None], v[None], given)[0])
        else:
            results.append(_nothing(q, k, v, *given))
    return torch.cat(results)


def _in_pytorch(query: Tensor, key: Tensor, value: Tensor, values: Sequence[Tensor]) -> Tensor:
    """Computes attention of [B, T, H, D] in operations of PyTorch, in float32 at least."""
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
