"""Programs of a package in Python, and results by programs next to the reference's."""

import math
import threading

import torch

from kerple import _driver, attention


class Computed:
    """Computes programs in Python on the buffers that a program is given, replica by replica."""

    def __init__(self, driver=_driver):
        self.driver = driver

    def __enter__(self):
        self.run = self.driver.Session.run
        self.driver.Session.run = lambda session, *args: aside(compute, *args)
        return self

    def __exit__(self, *_):
        self.driver.Session.run = self.run


def aside(call, *args):
    """Calls in a thread, where autograd works: inside an operator it does not."""
    failed = []

    def body():
        try:
            call(*args)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def compute(program, numbers, buffers, replicas=1):
    B, T, S = numbers["B"], numbers["T"], numbers["S"]
    shapes = dict.fromkeys(("q", "y", "dy", "dq"), (B, T, 4, 16)) | dict.fromkeys(("k", "v", "dk", "dv"), (B, S, 2, 16))
    shapes |= (
        dict.fromkeys(("largest", "norm"), (B, T, 4))
        | dict.fromkeys(("table", "dtable"), (4, T, S))
        | {"tables": (B, 4, T, S)}
    )
    for r in range(replicas):
        x = {}
        for name, (tensor, skip, step) in buffers.items():
            shape = shapes.get(name, (4,))
            first = (skip + r * step) // tensor.element_size()
            if f"{name}_row" in numbers:
                unit = 16 // tensor.element_size()
                strides = [unit * numbers[f"{name}_{what}"] for what in ("example", "row", "head")]
                x[name] = tensor.as_strided(shape, (*strides, 1), tensor.storage_offset() + first)
            else:
                x[name] = tensor.view(-1)[first : first + math.prod(shape)].view(shape)
        steps[program](x, T, S)


def fill(r1, r2, T, S):
    distance = (torch.arange(T)[:, None] - torch.arange(S)).abs()
    return -r1[:, None, None] * torch.log(1 + r2[:, None, None] * distance)


def attend(q, k, v, bias):
    T, S = q.shape[1], k.shape[1]
    k, v = k.repeat_interleave(2, dim=2), v.repeat_interleave(2, dim=2)
    scores = torch.einsum("bthd,bshd->bhts", q, k) / 4 + bias
    scores = scores.masked_fill(torch.arange(S) > torch.arange(T)[:, None], -torch.inf)
    return torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v)


def step_forward(x, T, S):
    x["y"].copy_(attend(x["q"].float(), x["k"].float(), x["v"].float(), x["table"]).detach())
    x["largest"].fill_(1)
    x["norm"].fill_(2)


def step_backward(x, T, S):
    given = [x[n].detach().float().requires_grad_() for n in ("q", "k", "v", "table")]
    for name, g in zip(("dq", "dk", "dv", "dtable"), torch.autograd.grad(attend(*given), given, x["dy"].float())):
        x[name].copy_(g)
    if (x["largest"] != 1).any() or (x["norm"] != 2).any():
        raise ValueError("not those of the forward program")


def step_table_grad(x, T, S):
    given = [x[n].detach().requires_grad_() for n in ("kerple.r1", "kerple.r2")]
    for name, g in zip(("d.kerple.r1", "d.kerple.r2"), torch.autograd.grad(fill(*given, T, S), given, x["dtable"])):
        x[name].copy_(g)


steps = {
    "table": lambda x, T, S: x["table"].copy_(fill(x["kerple.r1"], x["kerple.r2"], T, S).detach()),
    "forward": step_forward,
    "backward": step_backward,
    "sum_tables": lambda x, T, S: x["dtable"].copy_(x["tables"].sum(0)),
    "table_grad": step_table_grad,
}


def both(bias, x, layout="bhtd"):
    """Returns results and gradients by programs and by the reference."""
    answers = []
    for memory in ("cpu", "none"):
        _driver.memory = memory
        given = [t.detach().requires_grad_() for t in x]
        bias.zero_grad()
        y = attention(*given, bias, layout=layout)
        torch.manual_seed(3)
        y.backward(torch.randn(y.shape).to(y.dtype))
        answers.append([y.detach()] + [t.grad for t in given] + [p.grad for p in bias.parameters()])
    _driver.memory = "cpu"
    return zip(*answers)
