"""Trains a model of the bench in PyTorch or JAX, for its time or to be compared.

    pip install -r bench/peers/requirements.txt
    python bench/peers/peer.py PROBLEM.json --peer eager|compile|cudagraph|packed|jax|export [--exported FILE] [--threads N] [--device cpu|cuda] [--precision fp32|tf32|bf16] [--backend NAME] [--report FILE] [--fill]
    python bench/peers/peer.py PROBLEM.json --peer eager --follow FROM TO

The first serves as a compiled trainer does with bench --serve: it warms up, then
reads numbers of steps, one a line, and answers with the seconds they took. Before
each answer it writes its report, which is JSON: graphs compiled so far, those of them
compiled while it was timed, reasons of recompilations, CUDA graphs captured, and the
last loss. With --fill it only warms up and reports, which fills PyTorch's caches.

The second does one step from the checkpoint FROM of a compiled program and prints,
as JSON, its loss and how far its gradient and its parameters are from TO, where the
program's own step on the same batch has led.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import TextIO

import numpy as np

import models
from models import Arrays, Model, State

WARM_UP, MOST = 2, 40  # steps; peers that make graphs take up to so many


def peer(kind: str, m: Model, state: State, threads: int, device: str, precision: str, exported: str, backend: str):
    # Both libraries use as many threads as they see processors.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if kind == "jax":
        if (device, precision) != ("cpu", "fp32"):
            raise SystemExit("the peer in JAX has only --device cpu and --precision fp32")
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax_peer
        return jax_peer.Peer(m, state)
    import torch
    import torch_peer
    torch.set_num_threads(threads)
    if kind == "export":
        import export_peer
        return export_peer.Peer(m, state, exported)
    if kind == "cudagraph":
        import captured_torch
        return captured_torch.Peer(m, state, device, precision, backend)
    if kind == "packed":
        import packed_torch
        return packed_torch.Peer(m, state, device, precision, backend)
    return torch_peer.Peer(m, state, device, precision, backend if kind == "compile" else "")


def train(p, steps: int) -> float:
    """Trains, and returns the last step's loss, which must be finite."""
    loss = p.run(steps)
    if not math.isfinite(loss):
        raise SystemExit(f"the loss is {loss} after {p.done} steps")
    return loss


def warm_up(p) -> float:
    """Trains until each batch has met all numbers of recurrences, and comes once more
    without a new graph."""
    loss, quiet = train(p, WARM_UP), 0
    while getattr(p, "backend", "") and quiet < len(p.batches) and p.done < MOST:
        before = p.graphs()
        loss = train(p, 1)
        quiet = quiet + 1 if p.settled() and p.graphs() == before else 0
    return loss


class Report:
    """A report says which graphs a peer has made, and how many since it was warm."""

    def __init__(self, path: str, p):
        self.path, self.p = path, p
        self.warm = self.graphs()["compiled"]

    def graphs(self) -> dict:
        return self.p.graphs() if hasattr(self.p, "graphs") else {"compiled": 0, "why": [], "captured": 0}

    def write(self, loss: float) -> None:
        if not self.path:
            return
        graphs = self.graphs()
        text = json.dumps(graphs | {"recompiled": graphs["compiled"] - self.warm, "loss": loss})
        Path(self.path + ".tmp").write_text(text)
        os.replace(self.path + ".tmp", self.path)


def serve(p, report: str, fill: bool, answers: TextIO) -> None:
    loss = warm_up(p)
    reports = Report(report, p)
    reports.write(loss)
    if fill:
        return
    for line in sys.stdin:
        start = time.perf_counter()
        loss = train(p, int(line))
        seconds = time.perf_counter() - start
        reports.write(loss)
        print(f"{seconds:.6f}", file=answers, flush=True)


# They add the same number to all scores of a query, which softmax ignores. Their
# gradient in a program is only rounding.
WITHOUT_EFFECT = ".k.b", ".fire.b2"


def apart(xs: Arrays, ys: Arrays) -> tuple[float, str]:
    """The largest relative distance of a tensor, and which one it is."""
    def distance(name):
        of = np.linalg.norm(ys[name])
        return float(np.linalg.norm(xs[name] - ys[name]) / of) if of else float(xs[name].any())

    return max((distance(name), name) for name in xs if not name.endswith(WITHOUT_EFFECT))


def minus(xs: Arrays, ys: Arrays, factor: float = 1) -> Arrays:
    return {name: x - factor * ys[name] for name, x in xs.items()}


def follow(p, m: Model, first: State, last: State) -> dict:
    loss, got = p.run(1), p.state()
    beta = m.adam["beta1"]  # moment1' = beta moment1 + (1 - beta) gradient
    gradient = apart(minus(got.moment1, first.moment1, beta), minus(last.moment1, first.moment1, beta))
    params = apart(minus(got.params, first.params), minus(last.params, first.params))
    return {"loss": loss, "gradient": gradient[0], "gradient_of": gradient[1], "step": params[0], "step_of": params[1]}


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument("problem")
    args.add_argument("--peer", choices=["eager", "compile", "cudagraph", "packed", "jax", "export"], required=True)
    args.add_argument("--exported", help="of the peer export: what mlc export has written", default="")
    args.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    args.add_argument("--backend", help="of torch.compile", default="inductor")
    args.add_argument("--report", help="a file to be written", default="")
    args.add_argument("--fill", action="store_true")
    args.add_argument("--follow", nargs=2)
    a = args.parse_args()
    # Only answers go to the pipe, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    m = models.read(a.problem)

    def start(state: State):
        return peer(a.peer, m, state, a.threads, a.device, a.precision, a.exported, a.backend)

    if a.follow:
        first, last = (models.checkpoint(path) for path in a.follow)
        print(json.dumps(follow(start(first), m, first, last)), file=answers, flush=True)
    else:
        serve(start(models.start(m)), a.report, a.fill, answers)


if __name__ == "__main__":
    main()
