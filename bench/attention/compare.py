"""Times attention that mlc attention wrote next to FlexAttention and SDPA in PyTorch.

    python3 compare.py PACKAGES -o record.json [--device cuda] [--budget 200s] [--only "kerple *"]

PACKAGES has a package for each bias and size, such as kerple_h16_d64. The biases are those of
biases.py. Masks are causal, and q, k and v are as projections leave them: [B, T, H, D] in memory.

For a machine with a GPU, Python and PyTorch, and no mlc:

    here    bench/attention/bundle bin/attention      the folder to carry: packages and these files
    there   cd attention && python3 compare.py packages -o record.json --budget 400s
    back    record.json, to be kept as bench/attention/records/CARD-DATE.json
    here    python3 bench/attention/page.py RECORD docs/attention.md --svg docs/figures/attention.svg

The most important contests come first, and the record is written after each contender, so a run
that is killed loses little. The same command continues an existing record: contests in it, also
those that did not end, are left out. First, processes compile for PyTorch in parallel, a third
of the budget at most.

In a contest, each contender's result and gradients are compared with the package's reference in
float64. One that is wrong, fails, takes too long or runs out of memory is recorded with its
message. The others take turns: as called, and replayed as CUDA graphs, which shows the GPU's work
without the host's. A turn is many calls between two events; the record has the seconds of a call
for each turn.

--device cpu compares results at small sizes and measures nothing. With MLC_LIBCUDA and
MLC_LIBCUDA_MEMORY=cpu the packages run on the simulator, otherwise in PyTorch's operations.
"""

import argparse
import contextlib
import fnmatch
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch
from torch import Tensor

from biases import BIASES
from contenders import CONTENDERS, Contender, Values
import page

SHAPES = {  # [B, H, T, D] of q, k and v, the most important first
    "cuda": ((64, 16, 128, 64), (64, 16, 63, 64), (8, 16, 1024, 64), (2, 16, 4096, 128)),
    "cpu": ((3, 2, 9, 16), (1, 2, 37, 16)),
}
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}
TOLERANCES = {"bfloat16": 0.05, "float32": 1e-4}  # the norm of a difference over the size
REFERENCE_CELLS = 1 << 28  # scores that the reference has at a time, unless one example has more
ROUNDS, TURN = 25, 0.01  # turns of a contender, and seconds of one
FEW_ROUNDS, LONG = 5, 8  # rounds if they take more than so many seconds
PREPARING = 90  # seconds for a contender to compile, compute and be compared


@dataclass
class Contest:
    package: str
    bias: str
    dtype: str
    shape: Sequence[int]

    def __str__(self) -> str:
        return f"{self.bias} {'x'.join(map(str, self.shape))} {self.dtype}"

    def inputs(self, device: str) -> List[Tensor]:
        """Returns q, k, v and the gradient of the result."""
        B, H, T, D = self.shape
        generator = torch.Generator().manual_seed(1)
        made = [torch.randn(B, T, H, D, generator=generator).to(device, DTYPES[self.dtype]).transpose(1, 2) for _ in range(4)]
        return [x.requires_grad_() for x in made[:3]] + made[3:]

    def values(self, module: Any, device: str) -> Values:
        """Returns values of the parameters: initial ones and a little, so that none is 0."""
        if not module._op.parameters:
            return {}
        torch.manual_seed(2)
        return {name: (x + 0.1 + 0.2 * torch.rand(x.shape)).detach().to(device) for name, x in module.Bias().state_dict().items()}


def contests(folder: str, device: str, only: Sequence[str]) -> List[Contest]:
    """Returns the contests that the packages allow."""
    sys.path.insert(0, folder)
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "kernels.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                table = json.load(file)
            found[table["name"], table["heads"], table["width"]] = name
    # FIRE has 97 tensors for FlexAttention, so its contests come last.
    names = sorted(BIASES, key=lambda bias: bool(BIASES[bias].units))
    chosen = []
    for dtype in DTYPES:
        for late in (False, True):
            for shape in SHAPES[device]:
                for bias in names:
                    package = found.get((bias, shape[1], shape[3]))
                    if package and bool(BIASES[bias].units) == late:
                        chosen.append(Contest(package, bias, dtype, shape))
    return [c for c in chosen if not only or any(fnmatch.fnmatchcase(str(c), p) for p in only)]


def reference(module: Any, inputs: Sequence[Tensor], values: Values) -> Tuple[Values, Dict[str, float]]:
    """Returns the result and the gradients by the package's operations of PyTorch in float64, and the
    size of each: its norm and, of a parameter, also the norm of what adds up to its gradient. Parts of a
    sum may cancel: a bias that all keys share has the gradient 0."""
    q = inputs[0]
    B, H, T, _ = q.shape
    names = {p["attribute"]: p["name"] for p in module._op.parameters}
    given = {names[n]: x.double().requires_grad_() for n, x in values.items()}
    biases: List[Tensor] = []
    compute = module._reference.attention

    def attention(*arguments: Any, **more: Any) -> Tensor:
        biases[:] = [more["bias"]] if values else []
        return compute(*arguments, **more)

    some = max(1, REFERENCE_CELLS // (H * T * T))
    parts = []
    module._reference.attention = attention
    try:
        for at in range(0, B, some):
            *x, dy = (t[at:at + some].detach().double().transpose(1, 2) for t in inputs)
            x = [t.requires_grad_() for t in x]
            with q.device:
                y = module._reference.forward(*x, given)
            last = at + some >= B
            gradients = torch.autograd.grad(y, [*x, *given.values(), *biases], dy, retain_graph=last)
            parts.append([y.detach(), *gradients])
    finally:
        module._reference.attention = compute
    columns = list(zip(*parts))
    want = {name: torch.cat(column).transpose(1, 2) for name, column in zip(("y", "dq", "dk", "dv"), columns)}
    want.update({name: sum(column) for name, column in zip(values, columns[4:])})
    sizes = {name: float(x.norm()) for name, x in want.items()}
    if values:
        cells = sum(columns[-1])
        signs = torch.randint(0, 2, cells.shape, device=q.device) * 2 - 1
        for name, x in zip(values, torch.autograd.grad(biases[0], list(given.values()), signs * cells)):
            sizes[name] += float(x.norm())
    return want, sizes


def errors(got: Values, want: Values, sizes: Dict[str, float]) -> Dict[str, float]:
    """Returns the norm of each difference over the size."""
    return {name: float((x.double() - want[name]).norm()) / sizes[name] for name, x in got.items()}


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raises TimeoutError inside after so many seconds."""
    def late(*_: Any) -> None:
        raise TimeoutError(f"it took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def message(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:400]}"


def captured(call: Callable[[], Any]) -> Callable[[], Any]:
    """Returns the replay of a CUDA graph of the call."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


class Bench:
    """Runs contests on a device, and keeps the record."""

    def __init__(self, device: str, path: str, record: Dict[str, Any], ends: float) -> None:
        self.device, self.path, self.record, self.ends = device, path, record, ends
        self.cuda = device == "cuda"
        self.rounds, self.turn = (ROUNDS, TURN) if self.cuda else (1, 0)

    def save(self) -> None:
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.record, file, indent=1)
            file.write("\n")
        os.replace(self.path + ".new", self.path)

    def seconds(self, call: Callable[[], Any], calls: int) -> float:
        """Returns the seconds of a call, the mean of so many."""
        if not self.cuda:
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            return (time.perf_counter() - begin) / calls
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / calls

    def run(self, contest: Contest) -> None:
        """Prepares the contenders, and lets those that are right take turns."""
        row: Dict[str, Any] = {"contest": str(contest), "bias": contest.bias, "shape": list(contest.shape), "dtype": contest.dtype,
                               "package": contest.package, "ended": False, "contenders": {}}
        self.record["contests"].append(row)
        self.save()
        module = importlib.import_module(contest.package)
        inputs, values = contest.inputs(self.device), contest.values(module, self.device)
        want, sizes = reference(module, inputs, values)
        right: Dict[str, Contender] = {}
        for name in CONTENDERS:
            entry = row["contenders"][name] = {}
            try:
                with limit(PREPARING):
                    right[name] = self.prepare(name, module, inputs, values, lambda got: errors(got, want, sizes), TOLERANCES[contest.dtype], entry)
            except Exception as error:
                entry["message"] = message(error)
            self.clean()
            self.save()
        del want, sizes
        for how in ("called", "graph") if self.cuda else ("called",):
            for what in ("forward", "both"):
                self.take_turns(how, what, right, inputs[3], row["contenders"])
                self.save()
        row["ended"] = True
        self.save()

    def prepare(
        self, name: str, module: Any, inputs: Sequence[Tensor], values: Values, compare: Callable[[Values], Dict[str, float]],
        tolerance: float, entry: Dict[str, Any],
    ) -> Contender:
        """Returns a contender that is warm and right. It fills in its errors and memory."""
        *qkv, dy = inputs
        contender = CONTENDERS[name](module, qkv, values)
        entry["errors"] = off = compare(contender.named(contender.both(dy)))
        wrong = [n for n, e in off.items() if not e <= tolerance]
        if wrong:
            raise ArithmeticError("wrong: " + ", ".join(f"{n} is off by {off[n]:.1e}" for n in wrong))
        if self.cuda:
            torch.cuda.synchronize()
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            contender.both(dy)
            entry["memory"] = torch.cuda.max_memory_allocated() - before
        return contender

    def take_turns(self, how: str, what: str, right: Dict[str, Contender], dy: Tensor, entries: Dict[str, Any]) -> None:
        """Times one kind of call of each contender, one after another in every round."""
        calls: Dict[str, Any] = {}
        for name, contender in right.items():
            call = contender.forward if what == "forward" else lambda c=contender: c.both(dy)
            try:
                with limit(PREPARING):
                    call = captured(call) if how == "graph" else call
                    for _ in range(3 if self.cuda else 0):
                        once = self.seconds(call, 1)
                    calls[name] = call, max(1, round(self.turn / once)) if self.cuda else 1
            except Exception as error:
                entries[name][f"{how} {what}"] = {"message": message(error)}
                self.clean()
        turns: Dict[str, List[float]] = {name: [] for name in calls}
        begin = time.monotonic()
        for done in range(self.rounds):
            if done >= FEW_ROUNDS and time.monotonic() - begin > LONG:
                break
            for name, (call, count) in calls.items():
                turns[name].append(self.seconds(call, count))
        for name, seconds in turns.items():
            entries[name][f"{how} {what}"] = {"calls": calls[name][1], "seconds": seconds}

    def clean(self) -> None:
        """Frees the memory of a contender that is gone."""
        gc.collect()
        if self.cuda:
            with contextlib.suppress(Exception):
                torch.cuda.empty_cache()

    def broken(self) -> bool:
        """Reports whether the GPU's context is lost, so that only a new process can continue."""
        try:
            if self.cuda:
                torch.cuda.synchronize()
            return False
        except Exception:
            return True


def fill(folder: str, chosen: Sequence[Contest], seconds: float) -> None:
    """Compiles for PyTorch's contenders in parallel processes, which leave it in PyTorch's caches."""
    ends = time.monotonic() + seconds
    waiting, running = list(chosen), []
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    while (waiting or running) and time.monotonic() < ends:
        while waiting and len(running) < (os.cpu_count() or 1):
            command = [sys.executable, __file__, folder, "--compile-only", "--only", str(waiting.pop(0))]
            running.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(0.1)
        running = [p for p in running if p.poll() is None]
    for process in running:
        process.kill()
        process.wait()


def compile_only(contest: Contest) -> None:
    module = importlib.import_module(contest.package)
    *qkv, dy = contest.inputs("cuda")
    values = contest.values(module, "cuda")
    for name in CONTENDERS:
        with contextlib.suppress(Exception):
            CONTENDERS[name](module, qkv, values).both(dy)


def versions(device: str) -> Dict[str, str]:
    found = {"torch": torch.__version__, "python": sys.version.split()[0], "device": "cpu"}
    with contextlib.suppress(ImportError):
        found["triton"] = importlib.import_module("triton").__version__
    if device == "cuda":
        found["device"] = torch.cuda.get_device_name()
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
            found["driver"] = subprocess.check_output(query, text=True).split()[0]
    return found


def duration(text: str) -> float:
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: write seconds, such as 200s") from None


def main() -> int:
    parser = argparse.ArgumentParser(description="Times packages of mlc attention next to PyTorch's attention.")
    parser.add_argument("packages", help="folder of packages")
    parser.add_argument("-o", "--out", default="record.json", help="the record; an existing one is continued (default: record.json)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu measures nothing (default: cuda)")
    parser.add_argument("--budget", type=duration, default=200.0, help="seconds, checked before each contest (default: 200s)")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help='contests such as "kerple 64x16x* bfloat16"')
    parser.add_argument("--compile-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    ends = time.monotonic() + options.budget
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU: --device cpu compares results at small sizes")
    chosen = contests(options.packages, options.device, options.only)
    if not chosen:
        parser.error(f"no package in {options.packages} has a bias and a size of a contest that --only allows")
    if options.compile_only:
        for contest in chosen:
            compile_only(contest)
        return 0
    record = {"version": 1, "measurement": options.device == "cuda", "versions": versions(options.device), "contests": []}
    commit = os.path.join(options.packages, "commit")
    if os.path.exists(commit):
        with open(commit, encoding="utf-8") as file:
            record["versions"]["mlc"] = file.read().strip()
    if os.path.exists(options.out):
        with open(options.out, encoding="utf-8") as file:
            old = json.load(file)
        if old["versions"] != record["versions"]:
            parser.error(f"{options.out} is of another machine or version: name another file with -o")
        record = old
    done = {row["contest"] for row in record["contests"]}
    chosen = [c for c in chosen if str(c) not in done]
    if options.device == "cuda" and not done:
        fill(options.packages, chosen, options.budget / 3)
    bench = Bench(options.device, options.out, record, ends)
    bench.save()
    for i, contest in enumerate(chosen):
        if time.monotonic() > ends:
            print(f"no time left for {len(chosen) - i} of the contests", file=sys.stderr)
            break
        begin = time.monotonic()
        torch._dynamo.reset()  # it compiles only so many forms of a function
        try:
            bench.run(contest)
        except Exception as error:
            record["contests"][-1]["message"] = message(error)
            bench.save()
        print(f"{contest}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        bench.clean()
        if bench.broken():
            left = max(0, ends - time.monotonic())
            os.execv(sys.executable, [sys.executable, *sys.argv, "--budget", f"{left:.0f}s"])
    print(page.tables(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
