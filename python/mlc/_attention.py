"""Attention with a spec's bias, built and imported in one call."""

from __future__ import annotations

import hashlib
from types import ModuleType
from typing import Mapping, Optional

from ._command import Spec, cache, call, call_json, file_of, identity, settings
from ._load import module


def attention(spec: Spec, set: Optional[Mapping[str, object]] = None, *, name: str = "attention") -> ModuleType:
    """The package that ``mlc attention`` writes for a spec, imported.

        >>> kerple = mlc.attention("kerple.arith", set={"attention.heads": 4})
        >>> bias = kerple.Bias()
        >>> y = kerple.attention(query, key, value, bias)  # [B, H, T, D]

    The package is kept in the user's cache, by the content of the spec and of all that it reads.

    Args:
        spec: the path of a spec with a block attention, or its text.
        set: attributes by path, such as {"attention.heads": 16}.
        name: the name of a spec given as text.

    Returns:
        a module with attention(query [B, H, T, D], key and value [B, K, S, D], bias) -> [B, H, T, D],
        and Bias, a torch.nn.Module with the learned parameters.

    Raises:
        SpecError: the spec has errors.
    """
    file, sets = file_of(spec, name), settings(set)
    about = call_json("explain", file, *sets)
    key = hashlib.sha256(repr((about[0]["spec_hash"], identity())).encode()).hexdigest()[:16]
    package = f"mlc_attention_{key}"
    folder = cache("attention") / package
    if not (folder / "__init__.py").exists():
        call("attention", file, *sets, "-o", str(folder), "--force")
    return module(package, folder / "__init__.py", keep=True)
