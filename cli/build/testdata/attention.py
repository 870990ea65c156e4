"""Compares packages that mlc attention writes, run on the simulator, with PyTorch in float64.

    python3 attention.py FOLDER   with a package in each folder of FOLDER
"""

import importlib
import os
import sys

import torch

FOLDER = sys.argv[1]
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 4e-2}  # of the size
SHAPES = ((3, 5, 9), (2, 37, 37))  # examples, queries, keys
sys.path.insert(0, FOLDER)
failures = []


def gradients(module, inputs, weight, dtype, parameters):
    """Returns the result and the gradients of all inputs and parameters, by the kernels."""
    q, k, v = (x.to(dtype, copy=True).requires_grad_() for x in inputs)
    if module._op.GIVEN:
        bias = parameters["table"].clone().requires_grad_()
        y = module.attention(q, k, v, bias)
        (y * weight.to(dtype)).sum().backward()
        return [y.detach(), q.grad, k.grad, v.grad, bias.grad]
    bias = module.Bias() if module._op.parameters else None
    if bias is not None:
        with torch.no_grad():
            for name, value in parameters.items():
                getattr(bias, name).copy_(value)
    y = module.attention(q, k, v, bias)
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


def compare(name, what, got, want, size, tolerance):
    error = float((got.double() - want).abs().max()) / max(size, 1e-30)
    if not error <= tolerance:
        failures.append(f"{name}: {what} is off by {error:.1e} of its size {size:.2g}")


names = sorted(n for n in os.listdir(FOLDER) if os.path.isfile(os.path.join(FOLDER, n, "kernels.json")))
for name in names:
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
            for again in range(29 if name == names[0] else 1):
                if not all(torch.equal(a, b) for a, b in zip(got, gradients(module, inputs, weight, dtype, parameters))):
                    failures.append(f"{case}: run {again + 2} gives other bits")
            for b in range(B):  # each example alone
                one = gradients(module, [x[b:b + 1] for x in inputs], weight[b:b + 1], dtype, parameters)
                for what, a, x in zip(("y", "dq", "dk", "dv"), got, one):
                    if not torch.equal(a[b:b + 1], x):
                        failures.append(f"{case}: {what} of example {b} alone has other bits")
print("\n".join(failures))
sys.exit(1 if failures else 0)
