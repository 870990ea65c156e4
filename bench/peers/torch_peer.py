"""The models in PyTorch, eager or compiled, on a processor or a GPU."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import models
from gpt_torch import GPT
from looped_torch import Looped
from models import Model, State


class Fire(nn.Module):
    """Li et al. 2024 (arXiv:2310.04418), section 3."""

    def __init__(self, m: Model):
        super().__init__()
        self.w1, self.b1 = (nn.Parameter(torch.empty(models.FIRE_HIDDEN)) for _ in range(2))
        self.w2 = nn.Parameter(torch.empty(m.heads, models.FIRE_HIDDEN))
        self.b2 = nn.Parameter(torch.empty(m.heads))
        self.scale, self.reach = (nn.Parameter(torch.empty(())) for _ in range(2))
        distance, query = (torch.from_numpy(x) for x in m.fire_inputs())
        self.register_buffer("distance", distance, persistent=False)
        self.register_buffer("query", query, persistent=False)

    def forward(self) -> torch.Tensor:
        """[H, T, T]"""
        far = torch.maximum(self.query, (models.FIRE_THRESHOLD * self.reach).abs())
        z = torch.log((self.scale * self.distance).abs() + 1) / (torch.log((self.scale * far).abs() + 1) + 1e-6)
        hidden = torch.relu(z[..., None] * self.w1 + self.b1)
        return F.linear(hidden, self.w2, self.b2).permute(2, 0, 1)


class Attention(nn.Module):
    """A residual sub-layer. Without keys it is self attention."""

    def __init__(self, m: Model, own: bool, mask: torch.Tensor | None):
        super().__init__()
        self.heads, self.dropout, self.own = m.heads, m.dropout, own
        if own:
            self.qkv = nn.Linear(m.width, 3 * m.width)
        else:
            self.q, self.kv = nn.Linear(m.width, m.width), nn.Linear(m.width, 2 * m.width)
        self.o = nn.Linear(m.width, m.width)
        self.norm = nn.LayerNorm(m.width)
        self.fire = Fire(m) if own and m.kind.fire else None
        self.register_buffer("mask", mask, persistent=False)

    def split(self, x: torch.Tensor, n: int) -> torch.Tensor:
        """[B, T, n D] -> n of [B, H, T, D / H]"""
        return x.unflatten(-1, (n, self.heads, -1)).permute(2, 0, 3, 1, 4)

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        if self.own:
            q, k, v = self.split(self.qkv(x), 3)
        else:
            (q,), (k, v) = self.split(self.q(x), 1), self.split(self.kv(memory), 2)
        mask = self.mask
        if self.fire is not None:
            mask = self.fire().masked_fill(~mask, -math.inf)[None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.dropout)
        y = self.o(y.transpose(1, 2).flatten(2))
        return self.norm(x + F.dropout(y, self.dropout))


class FeedForward(nn.Module):
    def __init__(self, m: Model):
        super().__init__()
        self.dropout = m.dropout
        self.add_module("in", nn.Linear(m.width, m.hidden))
        self.out = nn.Linear(m.hidden, m.width)
        self.norm = nn.LayerNorm(m.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.dropout(torch.relu(getattr(self, "in")(x)), self.dropout)
        return self.norm(x + F.dropout(self.out(h), self.dropout))


class Seq2Seq(nn.Module):
    """An identity encoder and a decoder with norms behind (Duan, Shi and Xu 2023,
    arXiv:2310.11984, section 4)."""

    def __init__(self, m: Model):
        super().__init__()
        self.dropout, self.scale = m.dropout, math.sqrt(m.width)
        own, cross = (None if x is None else torch.from_numpy(x) for x in m.masks())
        self.embed = nn.ModuleDict({"token": nn.Embedding(m.vocab, m.width)})
        self.decoder = nn.ModuleList(
            nn.ModuleDict({"self": Attention(m, True, own), "cross": Attention(m, False, cross), "ffn": FeedForward(m)})
            for _ in range(m.layers))
        self.head = nn.ModuleDict({"norm": nn.LayerNorm(m.width), "out": nn.Linear(m.width, m.vocab)})
        self.register_buffer("positions", torch.from_numpy(m.positions(max(m.rows, m.keys))), persistent=False)

    @staticmethod
    def inputs(b: models.Batch) -> tuple[np.ndarray, ...]:
        return b.source, b.target, b.labels

    def embedded(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed["token"](tokens) * self.scale + self.positions[:tokens.shape[1]]
        return F.dropout(x, self.dropout)

    def forward(self, source: torch.Tensor, target: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        memory, x = self.embedded(source), self.embedded(target)
        for layer in self.decoder:
            x = layer["cross"](layer["self"](x, memory), memory)
            x = layer["ffn"](x)
        logits = self.head["out"](self.head["norm"](x))
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def draw(self) -> tuple[int, ...]:
        return ()


# Suffixes of names in a checkpoint and in the module.
ENDS = {".w": ".weight", ".b": ".bias", ".gamma": ".weight", ".beta": ".bias", ".token": ".token.weight",
        ".position": ".position.weight"}


# The precision of float32 products; matters only on a GPU.
PRODUCTS = {"fp32": "highest", "tf32": "high", "bf16": "highest"}


def recompilations() -> list[str]:
    """Dynamo's first reasons to compile code again, or to give up, a line each."""
    entries = torch._dynamo.utils.get_compilation_metrics()
    # A reason begins with the number of the graph that does not fit.
    reasons = [x.fail_reason or x.recompile_reason.split(": ", 1)[-1] for x in entries if x.fail_reason or x.recompile_reason]
    return list(dict.fromkeys(" ".join(reason.split())[:200] for reason in reasons))[:8]


class Peer:
    """With bf16 parameters and moments stay in float32, and products are of bfloat16,
    as torch.autocast chooses them. With a backend torch.compile compiles the module."""

    capturable = False

    def __init__(self, m: Model, state: State, device: str = "cpu", precision: str = "fp32", backend: str = ""):
        torch.set_float32_matmul_precision(PRODUCTS[precision])
        self.device, self.precision, self.backend = device, precision, backend
        self.module = self.model(m).to(device)
        self.params = dict(self.module.named_parameters())
        adam = m.adam
        self.clip = adam["clip"]
        rule = torch.optim.AdamW if adam["decay"] else torch.optim.Adam
        groups = [{"params": [p for p in self.params.values() if (p.dim() > 1) == matrix], "weight_decay": adam["decay"] * matrix}
                  for matrix in (True, False)]
        self.optimizer = rule(groups, lr=adam["lr"], betas=(adam["beta1"], adam["beta2"]),
                              eps=adam["eps"], fused=True, capturable=self.capturable)
        self.load(state)
        if backend:
            self.module.compile(backend=backend)
        self.batches = [self.tensors(self.module.inputs(b)) for b in m.batches]
        self.done = 0
        self.met = set()  # batches, each with its numbers of recurrences

    @staticmethod
    def model(m: Model) -> nn.Module:
        if m.kind.gpt:
            return GPT(m)
        return Looped(m) if m.loop else Seq2Seq(m)

    def tensors(self, arrays: tuple[np.ndarray, ...]) -> list[torch.Tensor]:
        return [torch.from_numpy(x).long().to(self.device) for x in arrays]

    def load(self, state: State) -> None:
        self.names = {}
        groups = [models.pack(x) for x in (state.params, state.moment1, state.moment2)]
        for name in groups[0]:
            end = next((end for end in ENDS if name.endswith(end)), "")
            self.names[name] = name.removesuffix(end) + ENDS.get(end, "")
            values = [torch.tensor(g[name].T if end == ".w" else g[name], device=self.device) for g in groups]
            p = self.params[self.names[name]]
            with torch.no_grad():
                p.copy_(values[0])
            self.optimizer.state[p] = {"step": torch.tensor(float(state.step), device=self.device), "exp_avg": values[1].contiguous(),
                                       "exp_avg_sq": values[2].contiguous()}
        if len(self.names) != len(self.params):
            raise SystemExit("BUG: the module has other parameters than the model")

    def arrays(self, of) -> models.Arrays:
        """Named as in checkpoints, of each parameter what of gives."""
        packed = {}
        for name, theirs in self.names.items():
            x = of(self.params[theirs]).detach().cpu().numpy()
            packed[name] = x.T if name.endswith(".w") else x
        return {name: np.array(x) for name, x in models.unpack(packed).items()}

    def run(self, steps: int) -> float:
        """Trains, waits until everything is done, and returns the last step's loss."""
        for _ in range(steps):
            i, draws = self.done % len(self.batches), self.module.draw()
            loss = self.advance(self.batches[i], draws)
            self.met.add((i, draws[1:]))
            self.done += 1
        if self.device == "cuda":
            torch.cuda.synchronize()
        return loss.item()

    def advance(self, batch: list[torch.Tensor], draws: tuple[int, ...]) -> torch.Tensor:
        return self.step(*batch, *draws)

    def step(self, *inputs: torch.Tensor | int) -> torch.Tensor:
        """Trains on a batch, and returns its loss."""
        with self.autocast():
            loss = self.module(*inputs)
        self.optimizer.zero_grad()
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.params.values(), self.clip)
        self.optimizer.step()
        return loss

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bf16", cache_enabled=not self.capturable)

    def settled(self) -> bool:
        """Every batch has met all numbers of recurrences drawn so far."""
        return len(self.met) == len(self.batches) * len({counts for _, counts in self.met})

    def graphs(self) -> dict:
        """Dynamo has compiled so many graphs, and some of them again for these reasons. CUDA
        has captured so many."""
        if not self.backend:
            return {"compiled": 0, "why": [], "captured": 0}
        compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        return {"compiled": compiled, "why": recompilations(), "captured": 0}

    def state(self) -> State:
        of = self.optimizer.state
        return State(0, self.arrays(lambda p: p), self.arrays(lambda p: of[p]["exp_avg"]),
                     self.arrays(lambda p: of[p]["exp_avg_sq"]))
