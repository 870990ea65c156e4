"""Reads run directories: metrics and results as pandas, weights as numpy."""

from __future__ import annotations

import base64
import html
import importlib
import json
import os
import pathlib
import struct
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, TypeVar, Union

from ._command import figures

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Array = npt.NDArray[np.float32]

T = TypeVar("T")

#: A run directory: a Run, or its path.
RunLike = Union["Run", str, "os.PathLike[str]"]


def _needs(module: str) -> Any:
    """Imports a module that the command mlc does not need."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{error}: runs and weights need numpy and pandas: pip install numpy pandas") from None


class Run:
    """A run directory. If the spec has stages, it is the named stage's, or the last training stage's.

    folder is the directory of the training, root the one of the whole run, and record its run.json.
    A notebook shows the figures of the run.
    """

    def __init__(self, folder: Union[str, "os.PathLike[str]"], stage: Optional[str] = None) -> None:
        self.folder = self.root = pathlib.Path(folder)
        self.record: Dict[str, Any] = _json(self.folder / "run.json")
        trains = [s["name"] for s in self.record.get("stages") or [] if s["kind"] == "training"]
        if stage is not None and stage not in trains:
            raise ValueError(f"{folder} has no stage {stage!r} that trains; it has {', '.join(trains) or 'none'}")
        if trains:
            self.folder = self.folder / (stage or trains[-1])

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(self.name)}</b>, seed {self.record.get('seed')}, {html.escape(str(self.root))}"
        return f"<div>{title}<br>{drawn(self.root)}</div>"

    @property
    def name(self) -> str:
        """The name of the spec."""
        return str(self.record["name"])

    @property
    def spec(self) -> str:
        """The resolved spec, as text."""
        return (self.folder / "spec.arith").read_text(encoding="utf-8")

    @property
    def settings(self) -> Dict[str, str]:
        """The settings of the spec by path: {"model.width": "64", ...}."""
        return _settings(self.spec)

    def metrics(self) -> pd.DataFrame:
        """A DataFrame with a row for each report of training, by step; empty before the first."""
        return _lines(self.folder / "metrics.jsonl")

    def result(self, folder: str = "") -> Dict[str, Any]:
        """The result of a test as a dict; folder names a folder below eval, such as "times-8"."""
        result: Dict[str, Any] = _json(self.folder / "eval" / folder / "result.json")
        return result

    def lengths(self, folder: str = "") -> pd.Series[float]:
        """Exact match by length, for operands of equal length: a Series, 0 to 1."""
        found = self.result(folder).get("by_length") or {}
        series: pd.Series[float] = _needs("pandas").Series({int(n): x for n, x in found.items()}, dtype=float, name="exact_match").rename_axis("length").sort_index()
        return series

    def grid(self, folder: str = "") -> pd.DataFrame:
        """Exact match by the lengths of both operands: a DataFrame, with the first operand in columns and the second in rows.

        Cells that were not tested are NaN.
        """
        cells = [c for c in self.result(folder)["by_cell"] if c[1] > 0]
        table: pd.DataFrame = _needs("pandas").DataFrame([(i, j, right / max(n, 1)) for i, j, n, right, *_ in cells], columns=["first", "second", "exact_match"])
        return table.pivot(index="second", columns="first", values="exact_match")

    def checkpoints(self) -> List[pathlib.Path]:
        """The paths of the checkpoints, the newest last."""
        return sorted((self.folder / "ckpt").glob("step-*.safetensors"))

    def weights(self, optimizer: bool = False) -> Dict[str, Array]:
        """The parameters of the newest checkpoint by name, as arrays of float32 with the spec's shapes.

        "embed.token" is [V, D]; parameters of layers have a row for each layer. With optimizer, it
        includes the optimizer's states, as in "moment1.embed.token".
        """
        all = self.checkpoints()
        if not all:
            raise FileNotFoundError(f"{self.folder} has no checkpoint yet")
        found = read_weights(all[-1])
        return found if optimizer else {name: x for name, x in found.items() if not _is_state(name)}


def weights(run: RunLike, optimizer: bool = False) -> Dict[str, Array]:
    """The parameters of a run's newest checkpoint by name, as arrays: Run.weights."""
    return (run if isinstance(run, Run) else Run(run)).weights(optimizer)


def drawn(folder: pathlib.Path, *kinds: str) -> str:
    """The figures of a run as HTML: all, or the kinds of mlc plot."""
    return "".join(f'<img src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}">' for svg in figures(folder, *kinds))


def runs(folder: Union[str, "os.PathLike[str]"] = "runs") -> pd.DataFrame:
    """A DataFrame with a row for each run below a folder: its record, last report, result and settings.

    A run that cannot be read has its error in the column "problem".
    """
    rows: List[Dict[str, Any]] = []
    for path in sorted(pathlib.Path(folder).rglob("run.json")):
        if "stage" in _try(lambda: _json(path), {}):
            continue  # the run of the pipeline is a row
        where = path.parent
        row: Dict[str, Any] = {"dir": str(where.relative_to(folder))}
        try:
            run = Run(where)
            row.update({key: run.record.get(key) for key in ("name", "seed", "started", "device", "mlc_version")})
            metrics = run.metrics()
            if len(metrics):
                row["step"] = metrics.index[-1]
                row.update({key: metrics[key].iloc[-1] for key in ("loss", "exact_match", "seconds") if key in metrics})
            if (run.folder / "eval" / "result.json").exists():
                result = run.result()
                row.update({key: result.get(key) for key in ("id", "ood", "ood100", "overall")})
                if "text" in result:
                    row["bits"] = result["text"]["bits"]
            row.update(run.settings)
        except (OSError, ValueError, KeyError, TypeError) as error:
            row["problem"] = str(error)
        rows.append(row)
    table: pd.DataFrame = _needs("pandas").DataFrame(rows)
    return table


def read_weights(path: Union[str, "os.PathLike[str]"]) -> Dict[str, Array]:
    """The tensors of a safetensors file of float32, by name, in the order of the file, with its shapes."""
    np = _needs("numpy")
    data = pathlib.Path(path).read_bytes()
    if len(data) < 8:
        raise ValueError(f"{path} is not a safetensors file: it has {len(data)} bytes")
    (length,) = struct.unpack("<Q", data[:8])
    if length > len(data) - 8:
        raise ValueError(f"{path} is truncated, or not a safetensors file")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors: Dict[str, Array] = {}
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        if t["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {t['dtype']}; want F32")
        begin, end = (8 + length + offset for offset in t["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(t["shape"])
    return tensors


def _is_state(name: str) -> bool:
    return name.split(".")[0] in ("moment1", "moment2", "momentum", "average")


def _json(path: pathlib.Path) -> Any:
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def _lines(path: pathlib.Path) -> pd.DataFrame:
    """Reports of a file with a JSON object a line; the last line may be incomplete."""
    pandas = _needs("pandas")
    table: pd.DataFrame = pandas.DataFrame()
    if not path.exists():
        return table
    whole = path.read_text(encoding="utf-8").split("\n")[:-1]
    reports = [json.loads(line) for line in whole]
    return pandas.DataFrame(reports).set_index("step") if reports else table


def _settings(spec: str) -> Dict[str, str]:
    """The value of each attribute of a resolved spec by its path; a named block is also a setting."""
    values: Dict[str, str] = {}
    blocks: List[str] = []
    for line in spec.splitlines():
        words = line.partition("//")[0].split()
        if not words:
            continue
        if words[0] == "}":
            del blocks[-1:]
        elif words[-1] in ("{", "{}"):
            if len(words) > 2:
                values[".".join(blocks + words[:1])] = " ".join(words[1:-1])
            if words[-1] == "{":
                several = words[0] in ("stage", "calibrate", "bias", "mask", "table")
                blocks.append(" ".join(words[:-1]) if several else words[0])
        elif "=" in words:
            at = words.index("=")
            values[".".join(blocks + [" ".join(words[:at])])] = " ".join(words[at + 1 :])
    return values


def _try(read: Callable[[], T], otherwise: T) -> T:
    try:
        return read()
    except (OSError, ValueError):
        return otherwise
