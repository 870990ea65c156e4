"""What the tests share: packages to import, inputs, and the refusals that they expect."""

import importlib
import json
import os
import shutil
import sys
import tempfile

import torch

FOLDER = os.environ["PACKAGE"]  # a folder with the package kerple
sys.path.insert(0, FOLDER)


def package(name, change=lambda table: None, reference=None):
    """Imports a copy of the package whose table is changed."""
    folder = tempfile.mkdtemp(dir=FOLDER)
    shutil.copytree(os.path.join(FOLDER, "kerple"), os.path.join(folder, name))
    path = os.path.join(folder, name, "kernels.json")
    with open(path) as file:
        table = json.load(file)
    change(table)
    with open(path, "w") as file:
        json.dump(table, file)
    if reference:
        with open(os.path.join(folder, name, "_reference.py"), "w") as file:
            file.write(reference)
    kept = {m: sys.modules.pop(m) for m in list(sys.modules) if m == name or m.startswith(name + ".")}
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)
        for m in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
            if kept:
                del sys.modules[m]
        sys.modules.update(kept)


def inputs(B=10, T=5, S=7, dtype=torch.float32, H=4, HK=2, D=16, seed=1, grad=True):
    """Returns queries, keys and values [B, H, T, D]."""
    torch.manual_seed(seed)
    shapes = ((B, H, T, D), (B, HK, S, D), (B, HK, S, D))
    return [torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_(grad) for shape in shapes]


def refused(test, kind, words, call, *args, **more):
    """Expects an error of the kind whose text has all the words."""
    with test.assertRaises(kind) as caught:
        call(*args, **more)
    for word in words:
        test.assertIn(word, str(caught.exception))
