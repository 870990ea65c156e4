"""Trains a model of the bench in PyTorch or JAX, for its time or to be compared.

    pip install -r bench/peers/requirements.txt
    python bench/peers/peer.py PROBLEM.json --peer eager|compile|jax|export [--exported FILE] [--threads N] [--device cpu|cuda] [--precision fp32|tf32|bf16]
    python bench/peers/peer.py PROBLEM.json --peer eager --follow FROM TO

The first serves as a compiled trainer does with bench --serve: it warms up, then
reads numbers of steps, one a line, and answers with the seconds they took.

The second does one step from the checkpoint FROM of a compiled program and prints,
as JSON, its loss and how far its gradient and its parameters are from TO, where the
program's own step on the same batch has led.
"""

import argparse
import json
import os
import sys
import time
from typing import TextIO

import numpy as np

import models
from models import Arrays, Model, State

WARM_UP = 2  # steps


def peer(kind: str, m: Model, state: State, threads: int, device: str, precision: str, exported: str):
    # Both libraries take as many threads as they see processors.
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
    return torch_peer.Peer(m, state, kind == "compile", device, precision)


def serve(p, answers: TextIO) -> None:
    p.run(WARM_UP)
    for line in sys.stdin:
        start = time.perf_counter()
        p.run(int(line))
        print(f"{time.perf_counter() - start:.6f}", file=answers, flush=True)


# They add the same to all scores of a query, which softmax ignores: what a program
# has as their gradient is rounding.
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
    args.add_argument("--peer", choices=["eager", "compile", "jax", "export"], required=True)
    args.add_argument("--exported", help="of the peer export: what mlc export has written", default="")
    args.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    args.add_argument("--follow", nargs=2)
    a = args.parse_args()
    # Only answers go to the pipe, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    m = models.read(a.problem)

    def start(state: State):
        return peer(a.peer, m, state, a.threads, a.device, a.precision, a.exported)

    if a.follow:
        first, last = (models.checkpoint(path) for path in a.follow)
        print(json.dumps(follow(start(first), m, first, last)), file=answers, flush=True)
    else:
        serve(start(models.start(m)), answers)


if __name__ == "__main__":
    main()
