"""A bias that the caller gives as a tensor: by programs that Python computes, and by the reference."""

import unittest

import torch
from common import inputs, package, refused
from programs import Computed


def given():
    def change(table):
        table.update(name="given", parameters=[], table=False, given=True)
        for module in table["modules"].values():
            del module["programs"]["table"], module["programs"]["table_grad"]

    return package("given", change, (
        "import torch\n"
        "def forward(query, key, value, parameters):\n"
        "    key, value = (x.repeat_interleave(2, dim=2) for x in (key, value))\n"
        "    scores = torch.einsum('bthd,bshd->bhts', query, key) / 4 + parameters['table']\n"
        "    later = torch.arange(key.shape[1]) > torch.arange(query.shape[1])[:, None]\n"
        "    weights = scores.masked_fill(later, -torch.inf).softmax(-1)\n"
        "    return torch.einsum('bhts,bshd->bthd', weights, value)\n"
    ))


p = given()


def answers(x, bias, on_kernels, layout="bhtd"):
    """Returns the result and all gradients."""
    p._driver.memory = "cpu" if on_kernels else "none"
    x = [t.detach().requires_grad_() for t in x]
    bias = bias.detach().requires_grad_()
    try:
        with Computed(p._driver):
            y = p.attention(*x, bias, layout=layout)
            torch.manual_seed(3)
            y.backward(torch.randn(y.shape).to(y.dtype))
    finally:
        p._driver.memory = "cpu"
    return [y.detach(), *(t.grad for t in x), bias.grad]


class Values(unittest.TestCase):
    def agree(self, x, bias, most=1e-4, **more):
        for ours, theirs in zip(answers(x, bias, True, **more), answers(x, bias, False, **more)):
            self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
            self.assertLess((ours - theirs).abs().max() / (1 + theirs.abs().max()), most)

    def test_shapes(self):
        """Results and gradients for one group of examples and several, in both types and layouts."""
        for dtype, most in ((torch.float32, 1e-4), (torch.bfloat16, 5e-2)):
            for B, T, S in ((10, 5, 7), (3, 5, 5), (8, 2, 9), (1, 1, 1)):
                self.agree(inputs(B, T, S, dtype=dtype), torch.randn(4, T, S), most)
        self.agree([x.transpose(1, 2) for x in inputs()], torch.randn(4, 5, 7), layout="bthd")

    def test_repeated(self):
        """Lengths of 1 are repeated, and their gradients are sums."""
        whole = torch.randn(4, 5, 7)
        for shape in ((5, 7), (1, 5, 7), (4, 1, 7), (4, 5, 1), (1, 1), (1, 1, 7)):
            bias = torch.randn(shape)
            self.agree(inputs(), bias)
            got = answers(inputs(), bias, True)[-1]
            want = answers(inputs(), bias.expand_as(whole), True)[-1].sum_to_size(shape)
            self.assertLess((got - want).abs().max(), 1e-5)

    def test_each(self):
        """Each example has a bias of its own, and the bits that it has alone."""
        for dtype, most in ((torch.float32, 1e-4), (torch.bfloat16, 5e-2)):
            for B, T, S in ((10, 5, 7), (3, 5, 5), (1, 2, 9)):
                self.agree(inputs(B, T, S, dtype=dtype), torch.randn(B, 4, T, S), most)
        x, bias = inputs(), torch.randn(10, 4, 5, 7)
        whole = answers(x, bias, True)
        for b in (0, 9):
            alone = answers([t[b : b + 1] for t in x], bias[b], True)
            self.assertTrue(torch.equal(whole[0][b], alone[0][0]))
        for shape in ((10, 1, 5, 7), (10, 4, 1, 1), (1, 4, 5, 7), (1, 1, 5, 7)):
            bias = torch.randn(shape)
            self.agree(inputs(), bias)
            got = answers(inputs(), bias, True)[-1]
            want = answers(inputs(), bias.expand(10, 4, 5, 7), True)[-1].sum_to_size(shape)
            self.assertEqual(got.shape, bias.shape)
            self.assertLess((got - want).abs().max(), 1e-4)
        x = [t.transpose(1, 2) for t in inputs()]
        self.agree(x, torch.randn(10, 4, 5, 7), layout="bthd")
        self.agree(inputs(), torch.randn(4, 10, 7, 5).permute(1, 0, 3, 2))

    def test_types(self):
        """A bias of another type is used as float32, and its gradient has its type."""
        for dtype in (torch.bfloat16, torch.float16, torch.float64):
            bias = torch.randn(4, 5, 7).to(dtype)
            got, want = answers(inputs(), bias, True), answers(inputs(), bias.float(), True)
            self.assertEqual(got[-1].dtype, dtype)
            self.assertTrue(torch.equal(got[-1], want[-1].to(dtype)))
            self.assertTrue(torch.equal(got[0], want[0]))
            self.agree(inputs(), bias)
        p._driver.memory = "none"
        try:
            bias = torch.randn(4, 5, 7, dtype=torch.float64)
            x = inputs(B=1, dtype=torch.float64)
            self.assertTrue(torch.autograd.gradcheck(p.attention, (*x, bias.requires_grad_())))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.assertEqual(p.attention(*inputs(), bias).dtype, torch.bfloat16)
        finally:
            p._driver.memory = "cpu"

    def test_strides(self):
        self.agree(inputs(), torch.randn(7, 4, 5).permute(1, 2, 0))
        self.agree(inputs(), torch.randn(4, 6, 8)[:, 1:, 1:])

    def test_frozen(self):
        with Computed(p._driver):
            q, k, v = inputs()
            bias = torch.randn(4, 5, 7)
            p.attention(q, k, v, bias).sum().backward()
            self.assertIsNone(bias.grad)
            self.assertIsNotNone(q.grad)

    def test_empty(self):
        for B, T, S in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
            bias = torch.randn(4, T, S, requires_grad=True)
            p.attention(*inputs(B, T, S), bias).sum().backward()
            self.assertEqual((bias.grad.shape, bias.grad.abs().sum().item()), (bias.shape, 0))


class Operators(unittest.TestCase):
    def test_operators(self):
        ops = getattr(torch.ops, p._op.namespace)
        with Computed(p._driver):
            for B in (10, 3):
                x = [t.detach().transpose(1, 2).contiguous() for t in inputs(B)]
                for shape in ((4, 5, 7), (B, 4, 5, 7)):
                    for grad in (False, True):
                        *args, bias = [t.detach().requires_grad_(grad) for t in (*x, torch.randn(shape))]
                        torch.library.opcheck(ops.forward.default, (*args, None, None, 0, 0, bias))
                    q, k, v = x
                    statistics = [torch.full((B, 5, 4), float(n)) for n in (1, 2)]
                    rest = (None, None, 0, 0, torch.randn(shape))
                    torch.library.opcheck(ops.backward.default, (q, q, k, v, q, None, *statistics, *rest))

    def test_compile(self):
        """Also with a bias that is computed in the same graph."""
        def call(q, k, v, weight):
            return p.attention(q, k, v, weight[:, :, None] * weight.new_ones(k.shape[2])) * 2

        with Computed(p._driver):
            compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
            for T in (5, 6, 9):
                answers = []
                for function in (compiled, call):
                    x = [*inputs(T=T), torch.linspace(-1, 1, 4 * T).view(4, T).requires_grad_()]
                    y = function(*x)
                    y.sum().backward()
                    answers.append([y, *(t.grad for t in x)])
                for ours, theirs in zip(*answers):
                    self.assertTrue(torch.equal(ours, theirs))


class Refusals(unittest.TestCase):
    def test_bias(self):
        q, k, v = inputs()
        bias = torch.zeros(4, 5, 7)
        for kind, words, wrong in (
            (TypeError, ["bias is missing", "a tensor [H, T, S]"], None),
            (TypeError, ["bias is a builtins.list", "a tensor [H, T, S]"], [1.0]),
            (ValueError, ["bias has shape [4, 7, 5]", "[B, H, T, S], here [10, 4, 5, 7]"], bias.transpose(1, 2)),
            (ValueError, ["bias has shape [2, 5, 7]"], bias[:2]),
            (ValueError, ["bias has shape [7]", "[T, S] for all heads"], bias[0, 0]),
            (ValueError, ["bias has shape [9, 4, 5, 7]", "[H, T, S] for all examples"], bias.expand(9, 4, 5, 7)),
            (ValueError, ["bias has shape [1, 10, 4, 5, 7]"], bias.expand(1, 10, 4, 5, 7)),
            (ValueError, ["bias is on meta and query on cpu", ".to(device)"], bias.to("meta")),
            (TypeError, ["bias has type torch.int64", ".float()"], bias.long()),
            (TypeError, ["bias has type torch.bool", "mask", "-inf"], bias.bool()),
            (TypeError, ["bias has the layout torch.sparse_coo", "bias.to_dense()"], bias.to_sparse()),
        ):
            refused(self, kind, words, p.attention, q, k, v, wrong)
        refused(self, TypeError, ["tensor [H, T, S] or [B, H, T, S]", "attention(query, key, value, bias)"], p.Bias)

    def test_sizes(self):
        q, k, v = (x.expand(-1, -1, 1 << 15, 16) for x in inputs(B=1, T=1, S=1))
        words = ["bias has shape [4, 32768, 32768]", "4294967296 elements", "2**31"]
        refused(self, ValueError, words, p.attention, q, k, v, torch.zeros(1, 1))

    def test_derivatives(self):
        with Computed(p._driver):
            q, k, v = inputs()
            bias = torch.randn(4, 5, 7, requires_grad=True)
            (g,) = torch.autograd.grad(p.attention(q, k, v, bias).pow(2).sum(), bias, create_graph=True)
            refused(self, NotImplementedError, ["no second derivative"], g.sum().backward)


if __name__ == "__main__":
    unittest.main()
