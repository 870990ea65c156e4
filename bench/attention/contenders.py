"""The contenders: attention with a bias and a causal mask, by the package of mlc and by PyTorch."""

from typing import Any, Callable, Dict, List, Sequence

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from biases import BIASES

Values = Dict[str, Tensor]


class Contender:
    """Computes attention of the same q, k and v [B, H, T, D], with parameters of its own.

    A subclass sets leaves, what gradients are computed for, and the names of what both returns.
    """

    leaves: Sequence[Tensor]
    names: Sequence[str]

    def forward(self) -> Tensor:
        raise NotImplementedError

    def both(self, dy: Tensor) -> Sequence[Tensor]:
        """Returns the result, and the gradients of all leaves."""
        y = self.forward()
        return (y, *torch.autograd.grad(y, self.leaves, dy))

    def named(self, results: Sequence[Tensor]) -> Values:
        """Returns what both has returned by name, parameters as in the package."""
        return dict(zip(self.names, results))


class MLC(Contender):
    def __init__(self, module: Any, inputs: Sequence[Tensor], values: Values) -> None:
        self.inputs, self.attention = inputs, module.attention
        self.bias = module.Bias(inputs[0].device) if module._op.parameters else None
        parameters = []
        if self.bias is not None:
            self.bias.load_state_dict(values)
            parameters = [getattr(self.bias, name) for name in values]
        self.leaves = [*inputs, *parameters]
        self.names = ["y", "dq", "dk", "dv", *values]

    def forward(self) -> Tensor:
        return self.attention(*self.inputs, self.bias)


class Peer(Contender):
    """What PyTorch's contenders share. Parameters are leaves; the mask of blocks and constants are made before."""

    def __init__(self, module: Any, inputs: Sequence[Tensor], values: Values) -> None:
        self.inputs = inputs
        q = inputs[0]
        _, H, T, D = q.shape
        device = q.device
        self.compiles = device.type == "cuda"
        self.definition = BIASES[module._op.table["name"]]
        self.scale = self.definition.scale(D)
        self.shapes = {name: x.shape for name, x in values.items()}
        constants = self.definition.constants(H, T)
        self.given: Dict[str, Any] = {name: x.to(device) for name, x in constants.items()}
        self.index = [torch.arange(n, device=device).reshape(shape) for n, shape in ((H, (H, 1, 1)), (T, (1, T, 1)), (T, (1, 1, T)))]
        self.learned: Dict[str, List[Tensor]] = {name: self.parts(name, x) for name, x in values.items()}
        for name, parts in self.learned.items():
            self.given[name] = parts if name in self.definition.units and self.split else parts[0]
        learned = [x for parts in self.learned.values() for x in parts]
        self.leaves = [x for x in (*inputs, *learned) if x.requires_grad]
        self.names = ["y", "dq", "dk", "dv"] if inputs[0].requires_grad else ["y"]
        self.prepare(T, device)

    split = False  # whether parameters are as FlexAttention's scores need them

    def parts(self, name: str, x: Tensor) -> List[Tensor]:
        if not self.split:
            return [x.clone().requires_grad_()]
        if name in self.definition.units:
            return [e.clone().reshape(-1).requires_grad_() for e in x.unbind(-1)]
        return [x.clone().reshape(x.shape or (1,)).requires_grad_()]

    def prepare(self, T: int, device: torch.device) -> None:
        pass

    def compiled(self, function: Callable) -> Callable:
        return torch.compile(function, dynamic=False) if self.compiles else function

    def table(self) -> Tensor:
        """The bias of all cells, [H, T, T]."""
        return self.definition.table(self.given, *self.index)

    def maker(self, function: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """The function of the parameters, called once if nothing learns."""
        if self.learned:
            return self.compiled(function)
        made = function()
        return lambda: made

    def named(self, results: Sequence[Tensor]) -> Values:
        rest = list(results)
        named = {name: rest.pop(0) for name in self.names}
        for name, parts in self.learned.items():
            mine = [rest.pop(0) for _ in parts]
            named[name] = (torch.stack(mine, -1) if len(mine) > 1 else mine[0]).reshape(self.shapes[name])
        return named


class SDPA(Peer):
    """scaled_dot_product_attention with a mask of numbers, which is as it must be in the type of q."""

    def prepare(self, T: int, device: torch.device) -> None:
        _, i, j = self.index
        dtype = self.inputs[0].dtype

        def mask() -> Tensor:
            return torch.where(j <= i, self.table(), -torch.inf).to(dtype)[None]

        self.mask = self.maker(mask)

    def forward(self) -> Tensor:
        return scaled_dot_product_attention(*self.inputs, attn_mask=self.mask(), scale=self.scale)


class Flex(Peer):
    """FlexAttention whose score computes the bias from the parameters."""

    split = True

    def __init__(self, module: Any, inputs: Sequence[Tensor], values: Values) -> None:
        if inputs[0].device.type == "cpu":  # FlexAttention refuses the gradients of q, k and v there
            inputs = [x.detach() for x in inputs]
        super().__init__(module, inputs, values)

    def prepare(self, T: int, device: torch.device) -> None:
        self.blocks = create_block_mask(lambda b, h, i, j: i >= j, None, None, T, T, device=device)
        self.flex = self.compiled(flex_attention)
        given, score = self.given, self.definition.score
        self.score = lambda s, b, h, i, j: s + score(given, h, i, j)

    def both(self, dy: Tensor) -> Sequence[Tensor]:
        return super().both(dy) if self.leaves else (self.forward(),)

    def forward(self) -> Tensor:
        return self.flex(*self.inputs, score_mod=self.score, block_mask=self.blocks, scale=self.scale)


class FlexTable(Flex):
    """FlexAttention whose score reads a table of the bias, which is computed before."""

    split = False

    def prepare(self, T: int, device: torch.device) -> None:
        super().prepare(T, device)
        self.filled = self.maker(self.table)

    def forward(self) -> Tensor:
        table = self.filled()
        score = lambda s, b, h, i, j: s + table[h, i, j]
        return self.flex(*self.inputs, score_mod=score, block_mask=self.blocks, scale=self.scale)


CONTENDERS = {"mlc": MLC, "flex": Flex, "flex_table": FlexTable, "sdpa": SDPA}
