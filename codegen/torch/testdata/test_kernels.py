"""Attention through the operators and the driver, with a library that records launches, or with
programs that Python computes."""

import ctypes
import os
import struct
import threading
import unittest
import warnings
from unittest import mock

import torch
import torch.autograd.forward_ad as forward
import torch.utils.checkpoint
from torch._dynamo.testing import CompileCounterWithBackend
from common import inputs, package, refused
from programs import Computed, both

from kerple import Bias, _driver, _op, attention

table = _op.table
if table["name"] != "kerple" or _driver.memory != "cpu":
    raise SystemExit("MLC_LIBCUDA_MEMORY is not cpu")


class Recorded:
    """The lines that the library writes inside a with statement, and the buffers of each program."""

    def __enter__(self):
        if os.path.exists(os.environ["RECORD"]):
            os.remove(os.environ["RECORD"])
        self.lines, self.runs, self.kept = [], [], []
        self.run = _driver.Session.run

        def spy(session, program, numbers, buffers, replicas=1):
            self.kept.append(buffers)
            at = {name: (x.data_ptr() + skip, step) for name, (x, skip, step) in buffers.items()}
            self.runs.append((program, dict(numbers), replicas, at))
            self.run(session, program, numbers, buffers, replicas)

        _driver.Session.run = spy
        return self

    def __exit__(self, *_):
        _driver.Session.run = self.run
        if os.path.exists(os.environ["RECORD"]):
            with open(os.environ["RECORD"]) as file:
                self.lines = [line.split() for line in file if line.strip()]

    def of(self, kind):
        return [line[1:] for line in self.lines if line[0] == kind]


class Launches(unittest.TestCase):
    def check(self, recorded, module):
        """Compares all launches with the table: the parameters byte by byte, the grid, the memory."""
        launches = iter(recorded.of("launch"))
        for program, numbers, replicas, at in recorded.runs:
            program = table["modules"][module]["programs"][program]
            temporaries = {}
            for row in program["launches"]:
                entry, *grid, shared, stream, context, block = next(launches)
                self.assertEqual(entry, row["entry"])
                names = {**numbers, "min": min, "max": max}
                blocks = eval(row["blocks"], names)
                self.assertEqual([int(n) for n in grid], [blocks, replicas, 1, row["threads"], 1, 1])
                self.assertEqual((stream, context), ("(nil)", "0x1046"))
                block = bytes.fromhex(block)
                offset = 0

                def take(layout):
                    nonlocal offset
                    size = struct.calcsize(layout)
                    offset = (offset + size - 1) // size * size
                    (value,) = struct.unpack_from(layout, block, offset)
                    offset += size
                    return value

                for name in row["arguments"]:
                    address, step = take("<Q"), take("<Q")
                    if name in at:
                        self.assertEqual((address, step), at[name], name)
                    else:
                        (temporary,) = [t for t in program["temporaries"] if t["name"] == name]
                        self.assertEqual(step, 4 * eval(temporary["elements"], names))
                        self.assertEqual(temporaries.setdefault(name, address), address)
                for name in row["scalars"]:
                    if name == "example":
                        self.assertEqual((take("<I"), take("<I")), (0, 0))
                    else:
                        self.assertEqual(take("<I"), {"P": 0, "N": 0, "layer": 0}.get(name, names.get(name)), name)
                if row["scratch"]:
                    room = (eval(row["scratch"], names) + 15) // 16 * 16
                    address, bytes_ = take("<Q"), take("<Q")
                    self.assertEqual((address, bytes_, int(shared)), (0, room, room))
                else:
                    self.assertEqual(int(shared), 0)
                self.assertEqual(offset, len(block))
        self.assertEqual(list(launches), [])

    def test_packing(self):
        for dtype, module in ((torch.float32, "float32"), (torch.bfloat16, "bfloat16")):
            for B, T, S in ((10, 5, 7), (3, 70, 2), (4, 1, 1), (8, 33, 64)):
                bias = Bias()
                q, k, v = inputs(B, T, S, dtype=dtype)
                with Recorded() as recorded:
                    attention(q, k, v, bias).sum().backward()
                self.check(recorded, module)
                names = [(r[0], r[1]["B"], r[2]) for r in recorded.runs]
                groups, rest = divmod(B, 4)
                want = [("table", 1, 1), ("forward", B, 1)]
                want += [("backward", 4, groups)] * (groups > 0) + [("backward", rest, 1)] * (rest > 0)
                want += [("sum_tables", groups + (rest > 0), 1)] * (groups + (rest > 0) > 1) + [("table_grad", 1, 1)]
                self.assertEqual(names, want)
                for program, _, _, at in recorded.runs:
                    self.assertEqual(
                        "y" in at, program == "forward" or program == "backward" and dtype == torch.bfloat16
                    )
                size = q.element_size()
                backward = [r for r in recorded.runs if r[0] == "backward"]
                if groups:
                    at = backward[0][3]
                    self.assertEqual(
                        [at[n][1] for n in ("q", "k", "dv", "largest", "dtable", "table")],
                        [4 * T * 64 * size, 4 * S * 32 * size, 4 * S * 32 * size, 4 * T * 4 * 4, 4 * T * S * 4, 0],
                    )
                    if rest:
                        other = backward[1][3]
                        for n in ("q", "k", "v", "dy", "largest", "norm", "dq", "dk", "dv", "dtable"):
                            self.assertEqual(other[n][0], at[n][0] + groups * at[n][1], n)

    def test_parts(self):
        """Few tables of gradients are kept at once. The sum of earlier ones comes first, so its order is the same."""
        q, k, v = inputs(B=11, T=5, S=7)
        answers = []
        for most in (1 << 28, 1, 2 * 4 * 4 * 5 * 7):
            was, _op._TABLES_BYTES = _op._TABLES_BYTES, most
            try:
                torch.manual_seed(7)
                bias = Bias()
                with Computed(), Recorded() as recorded:
                    x = [t.detach().requires_grad_() for t in (q, k, v)]
                    attention(*x, bias).pow(2).sum().backward()
            finally:
                _op._TABLES_BYTES = was
            answers.append(([t.grad for t in (*x, *bias.parameters())], [(r[0], r[1]["B"], r[2]) for r in recorded.runs]))
        for gradients, _ in answers[1:]:
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(answers[0][0], gradients)))
        one = [("backward", 4, 1), ("backward", 4, 1), ("sum_tables", 2, 1), ("backward", 3, 1), ("sum_tables", 2, 1)]
        self.assertEqual(answers[1][1][2:], [*one, ("table_grad", 1, 1)])
        two = [("backward", 4, 2), ("sum_tables", 2, 1), ("backward", 3, 1), ("sum_tables", 2, 1)]
        self.assertEqual(answers[2][1][2:], [*two, ("table_grad", 1, 1)])

    def test_memory(self):
        """Tensors are read where they lie. A tensor is copied if the elements of its rows are not adjacent, or
        if they are not at multiples of 16 bytes."""
        bias = Bias()
        base = torch.randn(10 * 5 * 64 + 1)
        rows = base[:-1].view(10, 5, 4, 16)
        _, k, v = inputs(grad=False)
        apart = torch.randn(10, 4, 16, 5).transpose(2, 3)
        fused = torch.randn(10, 5, 8, 16)  # a product for queries, keys and values
        narrow = torch.randn(10, 4, 5, 18)[..., :16]
        for query, distances in (
            (rows.transpose(1, 2), (80, 16, 4)),
            (rows.transpose(1, 2).contiguous(), (80, 4, 20)),
            (fused[:, :, 4:].transpose(1, 2), (160, 32, 4)),
            (rows[:1].transpose(1, 2).expand(10, 4, 5, 16), (0, 16, 4)),
            (apart, None),
            (narrow, None),
            (base[1:].view(10, 5, 4, 16).transpose(1, 2), None),
        ):
            with Recorded() as recorded:
                y = attention(query, k, v, bias)
            _, numbers, _, at = recorded.runs[1]
            self.assertEqual(at["q"][0] != query.data_ptr(), distances is None)
            got = tuple(numbers[f"q_{what}"] for what in ("example", "row", "head"))
            self.assertEqual(got, distances or (80, 16, 4))
            self.assertEqual(at["q"][0] % 16, 0)
            self.assertEqual(at["y"][0], y.data_ptr())
            self.assertTrue(y.transpose(1, 2).is_contiguous())

    def test_many_replicas(self):
        """More groups than a grid has rows are several launches."""
        q, k, v = inputs(B=21, T=2, S=2)
        was, _driver._MOST_REPLICAS = _driver._MOST_REPLICAS, 2
        try:
            with Recorded() as recorded:
                attention(q, k, v, Bias()).sum().backward()
        finally:
            _driver._MOST_REPLICAS = was
        lines = [line for line in recorded.of("launch") if line[0] == "grad_2"]
        self.assertEqual([int(line[2]) for line in lines], [2, 2, 1, 1])
        at = [struct.unpack("<24Q", bytes.fromhex(line[-1])[: 24 * 8]) for line in lines]
        for i in (0, 1, 2, 4, 8, 11):  # q, k, v, dy, dq, dtable
            step = at[0][2 * i + 1]
            self.assertEqual([a[2 * i] - at[0][2 * i] for a in at], [0, 2 * step, 4 * step, 5 * step], i)

    def test_context(self):
        """The context is current in launches, and left as it was, in a thread that has none, too."""
        seen = []
        q, k, v = inputs()
        attention(q, k, v, Bias())
        library = _driver._driver.library

        def other():
            with Recorded() as recorded:
                attention(q, k, v, Bias())
            now = ctypes.c_void_p(1)
            library.cuCtxGetCurrent(ctypes.byref(now))
            seen.append((now.value, {line[9] for line in recorded.of("launch")}))
            library.cuCtxSetCurrent(ctypes.c_void_p(77))  # of another GPU
            with Recorded() as recorded:
                attention(q, k, v, Bias())
            library.cuCtxGetCurrent(ctypes.byref(now))
            seen.append((now.value, {line[9] for line in recorded.of("launch")}))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        self.assertEqual(seen, [(None, {"0x1046"}), (77, {"0x1046"})])

    def test_scratch(self):
        """Tiles beyond the shared memory are in global memory, of a few blocks a multiprocessor."""

        def change(table):
            table["modules"]["float32"]["programs"]["forward"]["launches"][1]["scratch"] = "20"

        p = package("scratch", change)
        q, k, v = inputs(B=8, T=6400, S=3, grad=False)
        with Recorded() as recorded:
            p.attention(q, k, v, p.Bias())
        launches = {line[0]: line for line in recorded.of("launch")}
        line = launches["scores_1"]
        address, room = struct.unpack("<QQ", bytes.fromhex(line[-1])[-16:])
        self.assertEqual((line[1], line[7], room), ("12", "0", 16 * 6400 + 16))
        self.assertNotEqual(address, 0)
        line = launches["attention_1"]
        self.assertEqual((line[7], *struct.unpack("<QQ", bytes.fromhex(line[-1])[-16:])), ("32", 0, 32))

    def test_scratch_of_replicas(self):
        """Scratch memory has a bound: few replicas run at once."""
        p = package("replicas", lambda t: t.update(group=1))
        q, k, v = inputs(B=30, T=2, S=1600)
        with Recorded() as recorded:
            p.attention(q, k, v, p.Bias()).sum().backward()
        lines = [line for line in recorded.of("launch") if line[0] == "grad_1"]
        self.assertEqual([(int(line[1]), int(line[2])) for line in lines], [(1, 12), (1, 12), (1, 6)])

    def test_two_devices(self):
        """Each device has its context and modules, whichever context is current."""
        p = package("devices")
        with Recorded() as recorded:
            for index in (1, 0, 1, 0):
                with p._driver.Session(p._op.table, "float32", torch.device("cuda", index)) as session:
                    now = ctypes.c_void_p()
                    p._driver._driver.library.cuCtxGetCurrent(ctypes.byref(now))
                    self.assertEqual((now.value, session.device.arch), (0x1046 + index, 90))
        self.assertEqual(recorded.of("retain"), [["71"], ["70"]])
        self.assertEqual(len(recorded.of("load")), 2)

    def test_streams(self):
        """Launches go to PyTorch's current stream of the tensors' device."""
        with mock.patch.object(_driver, "memory", "cuda"):
            with mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda index: 1000 + index, create=True):
                self.assertEqual(_driver._stream(3), 1003)
            with mock.patch.object(torch._C, "_cuda_getCurrentRawStream", None, create=True):
                with mock.patch.object(torch.cuda, "current_stream", lambda index: mock.Mock(cuda_stream=2000 + index)):
                    self.assertEqual(_driver._stream(3), 2003)
        q, k, v = inputs(grad=False)
        with (
            mock.patch.object(_driver, "_stream", lambda index: 0x123456789A + index),
            Recorded() as recorded,
            torch.inference_mode(),
        ):
            attention(q, k, v, Bias())
        self.assertEqual({line[8] for line in recorded.of("launch")}, {"0x123456789a"})

    def test_loaded_once(self):
        p = package("loaded")
        q, k, v = inputs()
        with Recorded() as recorded:
            threads = [threading.Thread(target=lambda: p.attention(q, k, v, p.Bias())) for _ in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual((len(recorded.of("cuInit")), len(recorded.of("load")), len(recorded.of("retain"))), (1, 1, 1))
        self.assertEqual(len(recorded.of("launch")), 8 * 3)
        self.assertEqual(recorded.of("attribute"), [["scores_1", "8", str(101376 - 1024)], ["grad_1", "8", "101376"]])


class Gradients(unittest.TestCase):
    def test_values(self):
        with Computed():
            for dtype, most in ((torch.float32, 1e-4), (torch.bfloat16, 5e-2)):
                for B, T, S in ((10, 5, 7), (3, 5, 5), (8, 2, 9), (1, 1, 1)):
                    for ours, theirs in both(Bias(), inputs(B, T, S, dtype=dtype)):
                        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
                        self.assertLess((ours - theirs).abs().max() / (1 + theirs.abs().max()), most)
            for ours, theirs in both(Bias(), [x.transpose(1, 2) for x in inputs()], "bthd"):
                self.assertLess((ours - theirs).abs().max() / (1 + theirs.abs().max()), 1e-4)

    def test_bounds(self):
        """Values beyond bounds, at them and within them, as the reference has them."""
        with Computed():
            bias = Bias()
            with torch.no_grad():
                bias.r1.copy_(torch.tensor([-1, 0, 0.5, 2]))
                bias.r2.copy_(torch.tensor([-0.5, 0, 8, 9]))
            for ours, theirs in both(bias, inputs()):
                self.assertLess((ours - theirs).abs().max() / (1 + theirs.abs().max()), 1e-4)
                self.assertTrue(torch.equal(ours == 0, theirs == 0))

    def test_some(self):
        """Only tensors that need a gradient get one."""
        with Computed():
            bias = Bias()
            q, k, v = inputs()
            k.requires_grad_(False)
            bias.r2.requires_grad_(False)
            attention(q, k, v, bias).sum().backward()
            self.assertEqual([x.grad is None for x in (q, k, v, bias.r1, bias.r2)], [False, True, False, False, True])
            self.assertEqual(bias.r1.grad.stride(), bias.r1.stride())
            with torch.no_grad():
                self.assertFalse(attention(q, k, v, bias).requires_grad)

    def test_autocast_and_half(self):
        with Computed():
            bias = Bias()
            q, k, v = inputs()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = attention(q, k, v, bias)
            self.assertEqual(y.dtype, torch.bfloat16)
            y.sum().backward()
            self.assertEqual((q.grad.dtype, bias.r1.grad.dtype), (torch.float32, torch.float32))
            half = Bias().bfloat16()
            attention(q, k, v, half).sum().backward()
            self.assertEqual(half.r1.grad.dtype, torch.bfloat16)

    def test_empty(self):
        for B, T, S in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
            q, k, v = inputs(B, T, S)
            with Recorded() as recorded:
                attention(q, k, v, Bias()).sum().backward()
            self.assertEqual(recorded.lines, [])
            self.assertEqual(q.grad.abs().sum().item(), 0)

    def test_operators(self):
        ops = getattr(torch.ops, _op.namespace)
        with Computed():
            for grad in (False, True):
                x = [t.detach().transpose(1, 2).contiguous().requires_grad_(grad) for t in inputs()]
                torch.library.opcheck(
                    ops.forward.default, (*x, None, None, 0, 0, *(torch.rand(4).requires_grad_(grad) for _ in range(2)))
                )
            q, k, v = (t.detach() for t in x)
            statistics = [torch.full((10, 5, 4), float(n)) for n in (1, 2)]
            for y in (None, q):
                torch.library.opcheck(
                    ops.backward.default,
                    (q, q, k, v, y, torch.rand(4, 5, 7), *statistics, None, None, 0, 0, torch.rand(4), torch.rand(4)),
                )

    def test_operators_alone(self):
        """The statistics have no gradient, and the gradient's operator refuses to have one."""
        with Computed():
            x = [t.detach().transpose(1, 2).contiguous().requires_grad_() for t in inputs()]
            values, dense = [torch.rand(4) for _ in range(2)], (None, None, 0, 0)
            for outputs in (_op._Attention.apply(*x, *dense, *values), _op._ops.forward.default(*x, *dense, *values)):
                self.assertEqual([t.requires_grad for t in outputs], [True, False, False, False])
            y, largest, norm, filled = outputs
            gradients = _op._ops.backward.default(y, *x, None, filled, largest, norm, *dense, *values)
            refused(self, NotImplementedError, ["no second derivative"], gradients[0].sum().backward)

    def test_compile(self):
        with Computed():
            for dynamic in (None, True):
                torch._dynamo.reset()
                bias, counter = Bias(), CompileCounterWithBackend("aot_eager")
                compiled = torch.compile(
                    lambda q, k, v: attention(q, k, v, bias) * 2, fullgraph=True, dynamic=dynamic, backend=counter
                )
                for B, T, S in ((10, 5, 7), (3, 6, 9), (9, 8, 11)):
                    answers = []
                    for call in (compiled, lambda q, k, v: attention(q, k, v, bias) * 2):
                        bias.zero_grad()
                        x = inputs(B, T, S)
                        y = call(*x)
                        y.sum().backward()
                        answers.append([y, y.stride(), *(t.grad for t in x), bias.r1.grad, bias.r2.grad])
                    for ours, theirs in zip(*answers):
                        self.assertTrue(torch.equal(ours, theirs) if isinstance(ours, torch.Tensor) else ours == theirs)
                self.assertEqual(counter.frame_count, 1 if dynamic else 2)  # lengths that change are symbols

    def test_trainers(self):
        """DistributedDataParallel, checkpoints of activations, and torch.export."""

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.bias = Bias()

            def forward(self, q, k, v):
                return attention(q, k, v, self.bias)

        with Computed(), warnings.catch_warnings():
            warnings.simplefilter("error")
            model = Model()
            x = inputs()
            want = [model(*x)]
            want[0].sum().backward()
            want += [p.grad.clone() for p in model.parameters()]
            model.zero_grad()

            def agrees(y):
                y.sum().backward()
                for ours, theirs in zip([y] + [p.grad for p in model.parameters()], want):
                    self.assertTrue(torch.equal(ours, theirs))
                model.zero_grad()

            agrees(torch.utils.checkpoint.checkpoint(model, *x, use_reentrant=False))
            store = torch.distributed.HashStore()
            torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
            try:
                agrees(torch.nn.parallel.DistributedDataParallel(model)(*x))
            finally:
                torch.distributed.destroy_process_group()
        with Computed(), torch.no_grad():
            exported = torch.export.export(model, tuple(t.detach() for t in x)).module()
            self.assertTrue(torch.equal(exported(*(t.detach() for t in x)), want[0]))

    def test_func(self):
        with Computed():
            bias = Bias()
            q, k, v = inputs()
            ours = torch.func.grad(lambda q: attention(q, k, v, bias).sum())(q)
            attention(q, k, v, bias).sum().backward()
            self.assertTrue(torch.equal(ours, q.grad))
            values = {n: p.detach() for n, p in bias.named_parameters()}

            class Called(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.bias = Bias()

                def forward(self):
                    return attention(q, k, v, self.bias).sum()

            called = Called()
            gradients = torch.func.grad(lambda p: torch.func.functional_call(called, p, ()))(
                {"bias." + n: p for n, p in values.items()}
            )
            self.assertTrue(torch.equal(gradients["bias.r1"], bias.r1.grad))


class Refusals(unittest.TestCase):
    def test_derivatives(self):
        with Computed():
            bias = Bias()
            q, k, v = inputs()
            for x in (q, bias.r1):
                (g,) = torch.autograd.grad(attention(q, k, v, bias).pow(2).sum(), x, create_graph=True)
                refused(
                    self,
                    NotImplementedError,
                    ["no second derivative"],
                    torch.autograd.grad,
                    g.sum(),
                    x,
                    retain_graph=True,
                )
                refused(self, NotImplementedError, ["no second derivative", "create_graph"], g.pow(2).sum().backward)
            nested = torch.func.grad(lambda q: torch.func.grad(lambda q: attention(q, k, v, bias).sum())(q).sum())
            refused(self, NotImplementedError, ["no second derivative"], nested, q)
            refused(
                self, NotImplementedError, ["vmap", "flatten"], torch.vmap(lambda q: attention(q, k, v, bias)), q[None]
            )
            with forward.dual_level():
                dual = forward.make_dual(q.detach(), torch.ones_like(q))
                refused(self, NotImplementedError, ["forward-mode"], attention, dual, k.detach(), v.detach(), bias)

    def test_types(self):
        for dtype in (torch.float16, torch.float64):
            refused(
                self,
                TypeError,
                [f"query has type {dtype}", "torch.float32 or torch.bfloat16", "query.to(torch.bfloat16)"],
                attention,
                *inputs(dtype=dtype),
                Bias(),
            )
        p = package("single", lambda t: t["modules"].pop("bfloat16"))
        refused(
            self,
            TypeError,
            ["kernels are for torch.float32", "query.float()"],
            p.attention,
            *inputs(dtype=torch.bfloat16),
            p.Bias(),
        )

    def test_sizes(self):
        q, k, v = inputs(B=1, T=1, S=1)
        refused(
            self,
            ValueError,
            ["query", "2147483648 elements", "2**31"],
            attention,
            q.expand(1 << 25, 4, 1, 16),
            k.expand(1 << 25, 2, 1, 16),
            v.expand(1 << 25, 2, 1, 16),
            Bias(),
        )
        refused(
            self,
            ValueError,
            ["table of the bias", "[4, 4294967296]"],
            attention,
            q.expand(1, 4, 1 << 16, 16),
            k.expand(1, 2, 1 << 16, 16),
            v.expand(1, 2, 1 << 16, 16),
            Bias(),
        )

    def test_driver(self):
        """Each failure names its call and says what to do."""
        q, k, v = inputs()
        for i, (call, status, words) in enumerate(
            (
                ("cuInit", 100, ["cuInit", "(100)", "no GPU is visible"]),
                ("cuInit", 3, ["(3)", "'spawn'"]),
                ("cuDevicePrimaryCtxRetain", 2, ["cuDevicePrimaryCtxRetain", "memory is full"]),
                (
                    "cuModuleLoadDataEx",
                    222,
                    ["float32.ptx", "line 3: a log", "driver is older", "CUDA_ERROR_RECORDED", "a recorded error"],
                ),
                ("cuModuleLoadDataEx", 900, ["before the capture"]),
                ("cuModuleGetFunction", 500, ["cuModuleGetFunction of table_1"]),
                ("cuFuncSetAttribute", 1, ["cuFuncSetAttribute of scores_1"]),
                ("cuLaunchKernel", 700, ["launch of table_1", "CUDA_LAUNCH_BLOCKING"]),
            )
        ):
            p = package(f"fails{i}")
            os.environ.update(RECORD_FAIL=call, RECORD_STATUS=str(status))
            try:
                refused(self, RuntimeError, words, p.attention, q, k, v, p.Bias())
            finally:
                del os.environ["RECORD_FAIL"], os.environ["RECORD_STATUS"]
            p.attention(q, k, v, p.Bias())  # nothing is left half done

    def test_environment(self):
        q, k, v = inputs()
        p = package("old")
        os.environ["RECORD_ARCH"] = "75"
        try:
            refused(
                self, RuntimeError, ["compute capability 7.5", "need 8.0", "newer GPU"], p.attention, q, k, v, p.Bias()
            )
        finally:
            del os.environ["RECORD_ARCH"]
        p = package("absent")
        was = os.environ["MLC_LIBCUDA"]
        os.environ["MLC_LIBCUDA"] = "/nonexistent/libcuda.so"
        try:
            refused(self, RuntimeError, ["/nonexistent/libcuda.so", "MLC_LIBCUDA"], p.attention, q, k, v, p.Bias())
        finally:
            os.environ["MLC_LIBCUDA"] = was

    def test_capture(self):
        p = package("captured")
        q, k, v = inputs()
        p._driver._capturing = lambda: True
        refused(
            self, RuntimeError, ["CUDA graph", "call attention once on cpu", "float32"], p.attention, q, k, v, p.Bias()
        )
        p._driver._capturing = lambda: False
        p.attention(q, k, v, p.Bias())
        p._driver._capturing = lambda: True
        with Recorded() as recorded:
            p.attention(q, k, v, p.Bias()).sum().backward()
        self.assertEqual({line[0] for line in recorded.lines}, {"launch"})

    def test_fork(self):
        p = package("forked")
        q, k, v = inputs()

        def child(call):
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    call()
                    said = "done"
                except BaseException as error:
                    said = str(error)
                os.write(write, said.encode())
                os._exit(0)
            os.close(write)
            with os.fdopen(read) as file:
                said = file.read()
            os.waitpid(pid, 0)
            return said

        def call():
            with torch.no_grad():
                p.attention(q, k, v, p.Bias())

        self.assertEqual(child(call), "done")
        call()
        self.assertIn("'spawn'", child(call))


if __name__ == "__main__":
    unittest.main()
