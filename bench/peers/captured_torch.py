"""Training steps in PyTorch as CUDA graphs."""

from dataclasses import dataclass
from functools import partial
from typing import Callable

import torch

import torch_peer
from models import Model, State

WARM_UP = 3  # steps before a capture


@dataclass
class Step:
    """A step reads its batch and its offset from its own tensors."""

    batch: list[torch.Tensor]
    offset: list[torch.Tensor]  # empty if the model draws none
    run: Callable[[], torch.Tensor]  # returns the loss


class Peer(torch_peer.Peer):
    """Each shape of a batch, with each number of recurrences, has its own step. A GPU
    replays the step as one CUDA graph, from zero gradients to Adam. A processor calls
    the step."""

    capturable = True

    def __init__(self, m: Model, state: State, device: str, precision: str, backend: str):
        super().__init__(m, state, device, precision, backend)
        self.steps: dict[tuple, Step] = {}
        if device == "cuda":
            self.stream, self.pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()

    def advance(self, batch: list[torch.Tensor], draws: tuple[int, ...]) -> torch.Tensor:
        offset, counts = draws[:1], draws[1:]
        key = (*(x.shape for x in batch), counts)
        if key not in self.steps:
            self.steps[key] = self.prepared(batch, offset, counts)
        step = self.steps[key]
        for place, x in zip(step.batch, batch):
            place.copy_(x)
        for place, x in zip(step.offset, offset):
            place.fill_(x)
        return step.run()

    def prepared(self, batch: list[torch.Tensor], offset: tuple[int, ...], counts: tuple[int, ...]) -> Step:
        batch, offset = [x.clone() for x in batch], [torch.tensor(x, device=self.device) for x in offset]
        step = partial(self.step, *batch, *offset, *counts)
        return Step(batch, offset, self.capture(step) if self.device == "cuda" else step)

    def capture(self, step: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
        """Graphs can share a pool of memory, because they run one after another and only
        the last loss is read. Steps before the capture leave parameters and moments as
        they were."""
        trained = [*self.params.values(), *(x for state in self.optimizer.state.values() for x in state.values())]
        kept = [x.detach().clone() for x in trained]
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(WARM_UP):
                step()
            with torch.no_grad():
                for x, y in zip(trained, kept):
                    x.copy_(y)
            self.optimizer.zero_grad()  # so that the pool has the gradients
        torch.cuda.current_stream().wait_stream(self.stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            loss = step().detach()

        def replay() -> torch.Tensor:
            graph.replay()
            return loss

        return replay

    def graphs(self) -> dict:
        return super().graphs() | {"captured": len(self.steps)}
