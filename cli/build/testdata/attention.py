"""Compares packages that mlc attention writes, run on the simulator, with PyTorch in float64.

    python3 attention.py FOLDER   with a package in each folder of FOLDER
"""

import importlib
import multiprocessing
import os
import sys

import torch

FOLDER = sys.argv[1]
LENGTHS = ((5, 1, 0, 37, 3), (9, 2, 4, 37, 0))  # of packed queries and keys
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 4e-2}  # of the size
SHAPES = ((3, 5, 9), (2, 37, 37))  # examples, queries, keys
sys.path.insert(0, FOLDER)
failures = []


def gradients(module, inputs, weight, dtype, parameters, **packed):
    """Returns the result and the gradients of all inputs and parameters, by the kernels."""
    q, k, v = (x.to(dtype, copy=True).requires_grad_() for x in inputs)
    if module._op.GIVEN:
        bias = parameters["table"].clone().requires_grad_()
        y = module.attention(q, k, v, bias, **packed)
        (y * weight.to(dtype)).sum().backward()
        return [y.detach(), q.grad, k.grad, v.grad, bias.grad]
    bias = module.Bias() if module._op.parameters else None
    if bias is not None:
        with torch.no_grad():
            for name, value in parameters.items():
                getattr(bias, name).copy_(value)
    y = module.attention(q, k, v, bias, **packed)
    (y * weight.to(dtype)).sum().backward()
    return [y.detach(), q.grad, k.grad, v.grad] + [getattr(bias, name).grad for name in parameters]


def wanted(module, inputs, weight, dtype, parameters):
    """Returns the same by the reference in float64, of inputs rounded to dtype, and the size of each: the
    largest element and, for a parameter, the norm of the cells' gradients that add up to its own."""
    q, k, v = (x.to(dtype).double().transpose(1, 2).requires_grad_() for x in inputs)
    names = {"table": "table"} if module._op.GIVEN else {p["attribute"]: p["name"] for p in module._op.parameters}
    given = {names[n]: x.double().clone().requires_grad_() for n, x in parameters.items()}
    kept = []

    def attention(*args, **more):
        if parameters:
            kept.append(more["bias"])
            more["bias"].retain_grad()
        return compute(*args, **more)

    compute, module._reference.attention = module._reference.attention, attention
    try:
        y = module._reference.forward(q, k, v, given)
    finally:
        module._reference.attention = compute
    (y * weight.to(dtype).double().transpose(1, 2)).sum().backward(retain_graph=True)
    results = [y.detach().transpose(1, 2)] + [x.grad.transpose(1, 2) for x in (q, k, v)]
    sizes = [float(x.abs().max()) for x in results]
    for x in given.values():
        gradient = torch.zeros_like(x) if x.grad is None else x.grad
        results.append(gradient)
        sizes.append(float(gradient.abs().max()) + float(kept[0].grad.norm()) * steepest(kept[0], x))
    return results, sizes


def steepest(bias, parameter):
    """Returns the largest change of a cell's bias with all elements of a parameter."""
    u = torch.zeros_like(bias, requires_grad=True)
    gradient, = torch.autograd.grad(bias, parameter, u, create_graph=True, allow_unused=True)
    if gradient is None or not gradient.requires_grad:
        return 1.0
    slope, = torch.autograd.grad(gradient.sum(), u)
    return float(slope.abs().max())


def starts(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)


def apart(name, module, dtype, tolerance, inputs, weight):
    """Compares examples that have a given bias each with the reference, and with each example alone: bits of the
    result and of all gradients."""
    B, T, S = len(weight), weight.shape[2], inputs[1].shape[2]
    table = torch.randn(B, H, T, S)
    got = gradients(module, inputs, weight, dtype, {"table": table})
    want, sizes = wanted(module, inputs, weight, dtype, {"table": table})
    for what, a, b, size in zip(("y", "dq", "dk", "dv", "table"), got, want, sizes):
        compare(name + ", a bias each", what, a, b, size, tolerance)
    for b in range(B):
        one = gradients(module, [x[b:b + 1] for x in inputs], weight[b:b + 1], dtype, {"table": table[b]})
        one[4] = one[4][None]
        for what, a, x in zip(("y", "dq", "dk", "dv", "table"), got, one):
            if not torch.equal(a[b:b + 1], x):
                failures.append(f"{name}: with a bias each, {what} of example {b} alone has other bits")


def packed(name, module, dtype, tolerance, parameters, each=False):
    """Compares packed sequences with each sequence alone: bits of results and of gradients of queries, keys and
    values. Gradients of parameters are sums over the sequences. A given bias is one for all, or for each."""
    rows, keys = LENGTHS
    inputs = [torch.randn(sum(n), heads, D) for n, heads in ((rows, H), (keys, HK), (keys, HK))]
    weight = torch.randn(sum(rows), H, D)
    if module._op.GIVEN:
        parameters = {"table": torch.randn(*[len(rows)] * each, H, max(rows), max(keys))}
    at = dict(cu_seqlens=starts(rows), cu_seqlens_k=starts(keys))
    got = gradients(module, inputs, weight, dtype, parameters, **at)
    known = dict(max_seqlen=max(rows), max_seqlen_k=max(keys))
    if not all(torch.equal(a, b) for a, b in zip(got, gradients(module, inputs, weight, dtype, parameters, **at, **known))):
        failures.append(f"{name}: packed, with lengths known, there are other bits")
    sums, sizes = {n: 0.0 for n in parameters}, {n: 0.0 for n in parameters}
    for s, (T, S) in enumerate(zip(rows, keys)):
        parts = [slice(int(at["cu_seqlens"][s]), int(at["cu_seqlens"][s + 1]))]
        parts += [slice(int(at["cu_seqlens_k"][s]), int(at["cu_seqlens_k"][s + 1]))] * 2
        own = [x[part].transpose(0, 1)[None] for x, part in zip(inputs, parts)]
        if T and S:
            given = parameters
            if module._op.GIVEN:
                given = {n: (x[s] if each else x)[:, :T, :S] for n, x in parameters.items()}
            want = gradients(module, own, weight[parts[0]].transpose(0, 1)[None], dtype, given)
            exact, size = wanted(module, own, weight[parts[0]].transpose(0, 1)[None], dtype, given)
            for n, x, largest in zip(parameters, exact[4:], size[4:]):
                if module._op.GIVEN:
                    x = torch.nn.functional.pad(x, (0, max(keys) - S, 0, max(rows) - T))
                if each:
                    x = torch.stack([x if other == s else 0 * x for other in range(len(rows))])
                sums[n], sizes[n] = sums[n] + x, max(sizes[n], largest)
        else:
            want = [torch.zeros_like(x) for x in (own[0], *own)]
        for what, a, x, part in zip(("y", "dq", "dk", "dv"), got, want, (parts[0], *parts)):
            if not torch.equal(a[part], x[0].transpose(0, 1).to(dtype)):
                failures.append(f"{name}: packed, {what} of sequence {s} alone has other bits")
    for n, a in zip(parameters, got[4:]):
        compare(name + ", packed", n, a, sums[n], sizes[n], tolerance)


def strided(name, module, dtype, parameters, inputs, weight, got):
    """Compares bits with tensors that lie otherwise: as [B, T, H, D], and as parts of one product."""
    q, k, v = (x.to(dtype) for x in inputs)
    together = torch.cat([k, v], dim=1)
    for what, other in (
        ("[B, T, H, D]", [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]),
        ("parts of a product", [q, *together.transpose(1, 2).contiguous().transpose(1, 2).split(HK, dim=1)]),
    ):
        with torch.no_grad():
            bias = module.Bias() if module._op.parameters else parameters.get("table")
            for n, x in parameters.items() if module._op.parameters else ():
                getattr(bias, n).copy_(x)
            if not torch.equal(module.attention(*other, bias), got[0]):
                failures.append(f"{name}: {what} gives other bits")


def compare(name, what, got, want, size, tolerance):
    error = float((got.double() - want).abs().max()) / max(size, 1e-30)
    if not error <= tolerance:
        failures.append(f"{name}: {what} is off by {error:.1e} of its size {size:.2g}")


names = sorted(n for n in os.listdir(FOLDER) if os.path.isfile(os.path.join(FOLDER, n, "kernels.json")))


def check(name):
    """Compares a package and returns what is wrong."""
    global H, HK, D
    failures.clear()
    module = importlib.import_module(name)
    table = module._op.table
    H, HK, D = table["heads"], table["key_heads"], table["width"]
    torch.manual_seed(1)
    parameters = {
        p["attribute"]: 0.1 + torch.rand(p["shape"]) for p in module._op.parameters if p["learned"]
    }
    for B, T, S in SHAPES:
        inputs = [torch.randn(B, H, T, D), torch.randn(B, HK, S, D), torch.randn(B, HK, S, D)]
        weight = torch.randn(B, H, T, D)
        if module._op.GIVEN:  # with keys that are closed by the bias, and a query that sees none
            table = torch.randn(H, T, S)
            table[:, 2, :4] = table[1:, 4] = -torch.inf
            parameters = {"table": table}
        for dtype, tolerance in TOLERANCES.items():
            case = f"{name}, {B} by {T} by {S}, {dtype}"
            got = gradients(module, inputs, weight, dtype, parameters)
            want, sizes = wanted(module, inputs, weight, dtype, parameters)
            for what, a, b, size in zip(["y", "dq", "dk", "dv", *parameters], got, want, sizes):
                compare(case, what, a, b, size, tolerance)
            if (B, T, S) != SHAPES[0]:
                continue
            strided(case, module, dtype, parameters, inputs, weight, got)
            for each in (False, True) if module._op.GIVEN else (False,):
                if module._op._PACKED:
                    packed(case, module, dtype, tolerance, parameters, each)
            if module._op.GIVEN:
                apart(case, module, dtype, tolerance, inputs, weight)
            for again in range(29 if name == names[0] else 1):
                if not all(torch.equal(a, b) for a, b in zip(got, gradients(module, inputs, weight, dtype, parameters))):
                    failures.append(f"{case}: run {again + 2} gives other bits")
            for b in range(B):  # each example alone
                one = gradients(module, [x[b:b + 1] for x in inputs], weight[b:b + 1], dtype, parameters)
                for what, a, x in zip(("y", "dq", "dk", "dv"), got, one):
                    if not torch.equal(a[b:b + 1], x):
                        failures.append(f"{case}: {what} of example {b} alone has other bits")
    return list(failures)


# A process keeps the kernels of all packages that it has run, so it ends after some of them.
with multiprocessing.get_context("fork").Pool(os.cpu_count(), maxtasksperchild=4) as pool:
    found = [text for texts in pool.imap(check, names, chunksize=1) for text in texts]
print("\n".join(found))
sys.exit(1 if found else 0)
