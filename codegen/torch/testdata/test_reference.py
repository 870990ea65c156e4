"""Attention on a processor, and the checks of arguments."""

import copy
import importlib
import sys
import unittest

import torch
from common import inputs, package, refused

import kerple
from kerple import Bias, attention


def direct(query, key, value, r1, r2):
    """KERPLE below a causal mask in float64, without the package."""
    query, key, value, r1, r2 = (x.detach().double() for x in (query, key, value, r1, r2))
    y = torch.zeros_like(query)
    B, H, T, D = query.shape
    for h in range(H):
        for i in range(T):
            n = min(i + 1, key.shape[2])
            kv = h // (H // key.shape[1])
            distance = torch.arange(i, i - n, -1).double()
            scores = key[:, kv, :n] @ query[:, h, i, :, None] / D**0.5
            scores = scores[..., 0] - r1[h] * torch.log(1 + r2[h] * distance)
            y[:, h, i] = (scores.softmax(-1)[:, None] @ value[:, kv, :n])[:, 0]
    return y


class Values(unittest.TestCase):
    def test_float64(self):
        bias = Bias().double()
        q, k, v = inputs(B=2, T=3, S=4, dtype=torch.float64)
        self.assertLess((attention(q, k, v, bias) - direct(q, k, v, bias.r1, bias.r2)).abs().max(), 1e-12)

    def test_types(self):
        bias = Bias()
        for dtype, most in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)):
            q, k, v = inputs(dtype=dtype)
            y = attention(q, k, v, bias)
            self.assertEqual(y.dtype, dtype)
            self.assertLess((y.double() - direct(q, k, v, bias.r1, bias.r2)).abs().max(), most)
            y.sum().backward()
            self.assertEqual((q.grad.dtype, bias.r1.grad.dtype), (dtype, torch.float32))

    def test_layouts(self):
        bias = Bias()
        q, k, v = inputs()
        y = attention(q, k, v, bias)
        other = attention(*(x.transpose(1, 2) for x in (q, k, v)), bias, layout="bthd")
        self.assertTrue(torch.equal(y, other.transpose(1, 2)))

    def test_gradients(self):
        bias = Bias().double()
        with torch.no_grad():
            bias.r1.add_(0.5)
            bias.r2.add_(0.5)
        x = inputs(B=1, T=3, S=3, dtype=torch.float64)

        def call(q, k, v, r1, r2):
            return torch.func.functional_call(Called(bias), {"bias.r1": r1, "bias.r2": r2}, (q, k, v))

        values = [p.detach().requires_grad_() for p in (bias.r1, bias.r2)]
        self.assertTrue(torch.autograd.gradcheck(call, (*x, *values)))
        self.assertTrue(torch.autograd.gradgradcheck(call, (*x, *values)))

    def test_empty(self):
        bias = Bias()
        for B, T, S in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
            q, k, v = inputs(B, T, S)
            with torch.no_grad():
                if q.numel():
                    q[0, 0, 0, 0] = float("inf")
            y = attention(q, k, v, bias)
            self.assertEqual(y.shape, q.shape)
            self.assertEqual(y.abs().sum().item(), 0)
            y.sum().backward()
            for x in (q, k, v, bias.r1, bias.r2):
                self.assertEqual(x.grad.abs().sum().item(), 0)

    def test_no_grad(self):
        with torch.no_grad():
            self.assertFalse(attention(*inputs(), Bias()).requires_grad)
        with torch.inference_mode():
            attention(*inputs(grad=False), Bias())

    def test_autocast(self):
        bias = Bias()
        q, k, v = inputs()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = attention(q, k.bfloat16(), v, bias)
            self.assertTrue(all(x.dtype == torch.float32 for x in bias()))
            wide = attention(q.double(), k.double(), v.double(), bias)
        self.assertEqual((y.dtype, wide.dtype), (torch.bfloat16, torch.float64))
        rounded = attention(*(x.bfloat16() for x in (q, k, v)), bias)
        self.assertTrue(torch.equal(y, rounded))

    def test_vmap(self):
        bias = Bias()
        q, k, v = inputs(grad=False)
        y = torch.vmap(lambda q: attention(q, k, v, bias))(torch.stack([q, 2 * q]))
        self.assertLess((y[1] - attention(2 * q, k, v, bias)).abs().max(), 1e-5)

    def test_compile(self):
        bias = Bias()
        compiled = torch.compile(lambda q, k, v: attention(q, k, v, bias), fullgraph=True, backend="aot_eager")
        for T in (5, 6, 9):
            q, k, v = inputs(T=T)
            y = compiled(q, k, v)
            y.sum().backward()
            want, bias.r1.grad = bias.r1.grad, None
            attention(q, k, v, bias).sum().backward()
            self.assertLess((want - bias.r1.grad).abs().max(), 1e-3)
            bias.r1.grad = None


class Called(torch.nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def forward(self, *x):
        return attention(*x, self.bias)


class Parameters(unittest.TestCase):
    def test_values(self):
        bias = Bias()
        self.assertEqual(repr(bias), "Bias(kerple: r1=[4] >= 0, r2=[4] >= 0 <= 8)")
        for value, high in ((bias.r1, 2), (bias.r2, 1)):
            self.assertTrue(0 <= value.min() < value.max() <= high)
        was = bias.r1.clone()
        bias.reset_parameters()
        self.assertFalse(torch.equal(was, bias.r1))
        self.assertEqual(Bias(device="meta").r1.device.type, "meta")
        self.assertEqual(sorted(copy.deepcopy(bias).state_dict()), ["r1", "r2"])

    def test_bounds(self):
        """Four values: within, at the bound, beyond it, at the upper bound; both signs of the gradient."""
        values = torch.tensor([0.5, 0.0, -1.0, 8.0])
        for sign, want in ((1, [1, 0, 0, 1]), (-1, [-1, -1, -1, 0])):
            r1 = torch.zeros(4)
            x = values.clone().requires_grad_()
            _, y = kerple._op._Within.apply(r1, x)
            self.assertEqual(y.tolist(), [0.5, 0, 0, 8])
            (sign * y.sum()).backward()
            self.assertEqual(x.grad.tolist(), want)
        bias, at_bound = Bias(), Bias()
        with torch.no_grad():
            bias.r1.fill_(-1)
            at_bound.r1.zero_()
            at_bound.r2.copy_(bias.r2)
        x = inputs()
        self.assertTrue(torch.equal(attention(*x, bias), attention(*x, at_bound)))

    def test_used_as_float32(self):
        bias = Bias().bfloat16()
        q, k, v = inputs(dtype=torch.bfloat16)
        wide = Bias()
        wide.load_state_dict(bias.state_dict())
        self.assertTrue(torch.equal(attention(q, k, v, bias), attention(q, k, v, wide)))
        attention(q, k, v, bias).sum().backward()
        self.assertEqual(bias.r1.grad.dtype, torch.bfloat16)

    def test_fixed_and_values(self):
        def change(table):
            table["parameters"][0].update(learned=False, init={"kind": "values", "values": [1, 2, 3, 4]})
            table["parameters"][1].update(init={"kind": "normal", "std": 3})

        bias = package("fixed", change).Bias()
        self.assertEqual([n for n, _ in bias.named_parameters()], ["r2"])
        self.assertEqual(bias.r1.tolist(), [1, 2, 3, 4])
        self.assertEqual(repr(bias), "Bias(kerple: r1=[4] fixed, r2=[4] >= 0 <= 8)")

    def test_none(self):
        plain = without_parameters()
        q, k, v = inputs()
        plain.attention(q, k, v).sum().backward()
        self.assertIsNotNone(q.grad)
        refused(self, TypeError, ["no parameters", "leave it out"], plain.attention, q, k, v, Bias())
        refused(self, TypeError, ["attention(query, key, value)"], plain.Bias)


def without_parameters():
    def change(table):
        table.update(parameters=[], table=False)
        for module in table["modules"].values():
            for name in ("table", "sum_tables", "table_grad"):
                del module["programs"][name]
            for program in module["programs"].values():
                for launch in program["launches"]:
                    launch["arguments"] = [a for a in launch["arguments"] if a not in ("table", "dtable")]

    return package(
        "plain",
        change,
        (
            "import torch\n"
            "def forward(query, key, value, parameters):\n"
            "    key, value = (x.repeat_interleave(2, dim=2) for x in (key, value))\n"
            "    scores = torch.einsum('bthd,bshd->bhts', query, key) / 4\n"
            "    return torch.einsum('bhts,bshd->bthd', scores.softmax(-1), value)\n"
        ),
    )


class Refusals(unittest.TestCase):
    def refuses(self, kind, words, q, k, v, bias=None, **more):
        refused(self, kind, words, attention, q, k, v, bias or Bias(), **more)

    def test_arguments(self):
        q, k, v = inputs()
        self.refuses(TypeError, ["query is a list", "must be a tensor"], [1.0], k, v)
        self.refuses(TypeError, ["key has the layout torch.sparse_coo", "dense"], q, k.detach().to_sparse(), v)
        self.refuses(ValueError, ["layout is 'bht'", "'bhtd' or 'bthd'"], q, k, v, layout="bht")
        self.refuses(ValueError, ["key has shape [2, 7, 16]", "[B, H, T, D]"], q, k[0], v)
        self.refuses(ValueError, ["query has shape [10, 4, 5, 15]", "4 heads of width 16"], q[..., 1:], k, v)
        self.refuses(ValueError, ["value has shape [10, 1, 7, 16]", "2 heads of width 16"], q, k, v[:, 1:])
        self.refuses(ValueError, ["query has shape [10, 5, 4, 16]", "say layout='bthd'"], q.transpose(1, 2), k, v)
        self.refuses(ValueError, ["query has shape [10, 4, 5, 16]", "say layout='bhtd'"], q, k, v, layout="bthd")
        self.refuses(ValueError, ["key has shape [1, 2, 7, 16] and query [10, 4, 5, 16]", "expand"], q, k[:1], v)
        self.refuses(
            ValueError, ["value has shape [10, 2, 6, 16] and key [10, 2, 7, 16]", "lengths S differ"], q, k, v[:, :, 1:]
        )
        self.refuses(TypeError, ["key has type torch.float64 and query torch.float32", ".to(dtype)"], q, k.double(), v)
        self.refuses(TypeError, ["query has type torch.int64", "floating-point"], q.long(), k, v)
        self.refuses(ValueError, ["value is on meta and query on cpu", ".to(device)"], q, k, v.to("meta"))

    def test_bias(self):
        q, k, v = inputs()
        refused(self, TypeError, ["bias is missing", "made once by Bias()"], attention, q, k, v)
        refused(self, TypeError, ["bias is a torch.Tensor", "kerple.Bias"], attention, q, k, v, torch.zeros(4))
        refused(
            self,
            ValueError,
            ["bias.r1 is on meta and query on cpu", "bias.to(query.device)"],
            attention,
            q,
            k,
            v,
            Bias(device="meta"),
        )
        other = package("other", lambda t: t.update(group=8))
        refused(self, TypeError, ["bias is a other.Bias", "kerple.Bias"], attention, q, k, v, other.Bias())
        bias = Bias()
        bias.r1.data = torch.zeros(3)
        refused(self, ValueError, ["bias.r1 has shape [3]", "must have [4]"], attention, q, k, v, bias)

    def test_version(self):
        refused(
            self,
            ImportError,
            ["version 3", "mlc attention kerple.arith"],
            package,
            "later",
            lambda t: t.update(version=3),
        )


def starts(*lengths):
    """The first row of each sequence, and the number of rows."""
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)


class Packed(unittest.TestCase):
    """Sequences of several lengths, with a table that has programs for them."""

    @classmethod
    def setUpClass(cls):
        def change(table):
            for module in table["modules"].values():
                module["programs"]["packed_forward"] = module["programs"]["forward"]

        cls.package = package("packed", change)
        cls.attention, cls.bias = staticmethod(cls.package.attention), cls.package.Bias()

    def inputs(self, rows=9, keys=9):
        torch.manual_seed(4)
        return [torch.randn(n, heads, 16, requires_grad=True) for n, heads in ((rows, 4), (keys, 2), (keys, 2))]

    def test_each(self):
        """Each sequence has the result that it has alone; a sequence without keys has 0."""
        for keys, more in (
            ((4, 0, 5), {}),
            ((3, 2, 0), {"cu_seqlens_k": starts(3, 2, 0)}),
            ((3, 2, 6), {"cu_seqlens_k": starts(3, 2, 6), "max_seqlen": 5, "max_seqlen_k": 7}),
        ):
            q, k, v = self.inputs(9, sum(keys))
            y = self.attention(q, k, v, self.bias, cu_seqlens=starts(4, 0, 5), **more)
            y.sum().backward()
            first = key_first = 0
            for n, m in zip((4, 0, 5), keys):
                one = [x[None].transpose(1, 2) for x in (q[first : first + n], k[key_first:][:m], v[key_first:][:m])]
                self.assertTrue(torch.equal(y[first : first + n], self.attention(*one, self.bias)[0].transpose(0, 1)))
                first, key_first = first + n, key_first + m
            self.assertEqual(q.grad.shape, q.shape)

    def test_empty(self):
        q, k, v = self.inputs(0, 0)
        y = self.attention(q, k, v, self.bias, cu_seqlens=starts())
        self.assertEqual(y.shape, (0, 4, 16))
        y.sum().backward()

    def test_refusals(self):
        q, k, v = self.inputs()
        at = starts(4, 5)
        for kind, words, args, more in (
            (ValueError, ["query has shape [1, 9, 4, 16]", "[R, 4, 16]"], (q[None], k, v), {"cu_seqlens": at}),
            (ValueError, ["key has shape [9, 4, 16]", "[R, 2, 16]"], (q, q, q), {"cu_seqlens": at}),
            (ValueError, ["value has shape [8, 2, 16]", "each key has one value"], (q, k, v[1:]), {"cu_seqlens": at}),
            (ValueError, ["key has 8 rows and query 9", "cu_seqlens_k"], (q, k[1:], v[1:]), {"cu_seqlens": at}),
            (TypeError, ["cu_seqlens is [3] of torch.int64", "torch.int32"], (q, k, v), {"cu_seqlens": at.long()}),
            (TypeError, ["cu_seqlens is a list"], (q, k, v), {"cu_seqlens": [0, 9]}),
            (ValueError, ["from 0 to the 9 rows", "goes from 0 to 8"], (q, k, v), {"cu_seqlens": starts(4, 4)}),
            (ValueError, ["with steps down"], (q, k, v), {"cu_seqlens": starts(6, -2, 5)}),
            (ValueError, ["cu_seqlens_k 4", "each sequence"], (q, k, v), {"cu_seqlens": at, "cu_seqlens_k": starts(4, 4, 1)}),
            (ValueError, ["has 5 rows, more than max_seqlen=4"], (q, k, v), {"cu_seqlens": at, "max_seqlen": 4}),
            (TypeError, ["without cu_seqlens"], inputs(), {"max_seqlen": 4}),
            (ValueError, ["four dimensions", "give cu_seqlens"], (q, k, v), {}),
        ):
            refused(self, kind, words, self.attention, *args, self.bias, **more)
        refused(self, ValueError, ["reads I or J"], attention, q, k, v, Bias(), cu_seqlens=at)


class Imports(unittest.TestCase):
    def test_several(self):
        """Packages of another name, of the same name elsewhere, and a second import of the same."""
        packages = [kerple, package("second"), package("kerple"), package("kerple", lambda t: t.update(group=2))]
        namespaces = {p._op.namespace for p in packages}
        self.assertEqual(len(namespaces), len(packages))
        q, k, v = inputs()
        for p in packages:
            p.attention(q, k, v, p.Bias()).sum().backward()
        kept = kerple.attention
        kept(q, k, v, kerple.Bias())
        for name in [m for m in sys.modules if m.startswith("second")]:
            del sys.modules[name]
        before = packages[1]._op.namespace
        importlib.reload(packages[0]._op)
        importlib.reload(packages[0])
        self.assertNotIn(packages[0]._op.namespace, (before, None))
        kerple.attention(q, k, v, kerple.Bias())


if __name__ == "__main__":
    unittest.main()
