"""Imports Python that mlc writes: models and attention."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import sys
import tempfile
from types import ModuleType
from typing import TYPE_CHECKING, Any, Dict, Optional, Union, cast

from ._command import call
from ._runs import Run

if TYPE_CHECKING:
    import os

    import torch

    class Model(torch.nn.Module):
        """An exported model: a module of PyTorch with the functions of its file.

        ``logits(source, target)`` of an encoder and decoder, or ``logits(tokens)`` of a decoder alone,
        takes tokens [B, S] and [B, T] and returns the logits [B, T, V] of the next tokens.
        """

        about: Dict[str, Any]  #: its name, the number of trained parameters, its architecture
        source: ModuleType  #: the exported file, with encode(), generate() and the vocabulary

        def answer(self, problem: str) -> str:
            """The model's answer to a problem such as "199", right or wrong."""
            raise NotImplementedError

        def logits(self, *tokens: Any) -> torch.Tensor:
            """Tokens [B, S] and [B, T] -> logits [B, T, V]."""
            raise NotImplementedError

else:
    Model = Any


def load(run: Union[Run, str, "os.PathLike[str]"], *, times: Optional[int] = None) -> Model:
    """The trained model of a run as a module of PyTorch, with the weights of its newest checkpoint.

    Args:
        run: a Run or a run directory.
        times: recurrences of the loop, instead of training's.

    Returns:
        a torch.nn.Module. logits() takes tokens [B, S] and [B, T] and returns [B, T, V]; answer("199")
        takes and returns text. about has facts, and source is the file of ``mlc export``.
    """
    folder = run.folder if isinstance(run, Run) else pathlib.Path(run)
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "model.py"
        call("export", str(folder), "--format", "python", "-o", str(path), *([f"--times={times}"] if times is not None else []))
        source = module(f"mlc_model_{folder.name.replace('-', '_')}", path, keep=False)
        net, about = source.build_model()
    net.about, net.source = about, source
    net.answer = functools.partial(source.answer, model=net)
    return cast(Model, net)


def module(name: str, path: pathlib.Path, keep: bool) -> ModuleType:
    """Imports a file, or the package of an __init__.py. keep makes the next import return the same module."""
    if keep and name in sys.modules:
        return sys.modules[name]
    package = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=package)
    assert spec is not None and spec.loader is not None  # it is a Python file
    made = importlib.util.module_from_spec(spec)
    if keep:
        sys.modules[name] = made
    try:
        spec.loader.exec_module(made)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return made
