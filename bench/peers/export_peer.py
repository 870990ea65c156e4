"""The PyTorch file that mlc export writes, trained: a model that nobody has written by hand.
It has no dropout."""

import importlib.util

import numpy as np
import torch
import torch.nn.functional as F

import models
from models import Model, State


class Peer:
    def __init__(self, m: Model, state: State, path: str):
        if m.dropout:
            raise SystemExit("an exported model has no dropout, and this one is trained with some")
        spec = importlib.util.spec_from_file_location("exported", path)
        code = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(code)
        self.module = code.Model({name: torch.tensor(x) for name, x in state.params.items()})
        self.params = {name.replace("/", "."): p for name, p in self.module.named_parameters()}
        adam = m.adam
        self.optimizer = torch.optim.Adam(self.params.values(), lr=adam["lr"], betas=(adam["beta1"], adam["beta2"]),
                                          eps=adam["eps"], fused=True)
        for name, p in self.params.items():
            self.optimizer.state[p] = {"step": torch.tensor(float(state.step)), "exp_avg": torch.tensor(state.moment1[name]),
                                       "exp_avg_sq": torch.tensor(state.moment2[name])}
        self.batches = [[torch.from_numpy(x).long() for x in (b.source, b.target, b.labels)] for b in m.batches]
        self.done = 0

    def run(self, steps: int) -> float:
        """Trains and returns the last step's loss."""
        for _ in range(steps):
            source, target, labels = self.batches[self.done % len(self.batches)]
            loss = F.cross_entropy(self.module(source, target).flatten(0, 1), labels.flatten())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.done += 1
        return loss.item()

    def state(self) -> State:
        def arrays(of) -> models.Arrays:
            return {name: np.array(of(p).detach().numpy()) for name, p in self.params.items()}

        moments = self.optimizer.state
        return State(0, arrays(lambda p: p), arrays(lambda p: moments[p]["exp_avg"]), arrays(lambda p: moments[p]["exp_avg_sq"]))
