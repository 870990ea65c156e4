"""Reads run directories of mlc: metrics and results as pandas, weights as numpy."""

import json
import pathlib
import struct

import numpy as np
import pandas as pd

__all__ = ["Run", "runs", "read_weights"]


class Run:
    """A run directory. If the spec has stages, it is the named stage's, or the last training stage's."""

    def __init__(self, folder, stage=None):
        self.folder = pathlib.Path(folder)
        self.record = _json(self.folder / "run.json")
        trains = [s["name"] for s in self.record.get("stages") or [] if s["kind"] == "training"]
        if stage is not None and stage not in trains:
            raise ValueError(f"{folder} has no stage {stage!r} that trains; it has {', '.join(trains) or 'none'}")
        if trains:
            self.folder = self.folder / (stage or trains[-1])

    def __repr__(self):
        return f"Run({str(self.folder)!r})"

    @property
    def name(self):
        """The name of the spec."""
        return self.record["name"]

    @property
    def spec(self):
        """The resolved spec, as text."""
        return (self.folder / "spec.arith").read_text(encoding="utf-8")

    @property
    def settings(self):
        """The settings of the spec by path: {"model.width": "64", ...}."""
        return _settings(self.spec)

    def metrics(self):
        """A DataFrame with a row for each report of training, by step; empty before the first."""
        return _lines(self.folder / "metrics.jsonl")

    def result(self, folder=""):
        """The result of a test as a dict; folder names a folder below eval, such as "times-8"."""
        return _json(self.folder / "eval" / folder / "result.json")

    def lengths(self, folder=""):
        """Exact match by length, for operands of equal length: a Series, 0 to 1."""
        found = self.result(folder).get("by_length") or {}
        return pd.Series({int(n): x for n, x in found.items()}, dtype=float, name="exact_match").rename_axis("length").sort_index()

    def grid(self, folder=""):
        """Exact match by the lengths of both operands: a DataFrame, with the first operand in columns and the second in rows.

        Cells that were not tested are NaN.
        """
        cells = [c for c in self.result(folder)["by_cell"] if c[1] > 0]
        table = pd.DataFrame([(i, j, right / max(n, 1)) for i, j, n, right, *_ in cells], columns=["first", "second", "exact_match"])
        return table.pivot(index="second", columns="first", values="exact_match")

    def checkpoints(self):
        """The paths of the checkpoints, the newest last."""
        return sorted((self.folder / "ckpt").glob("step-*.safetensors"))

    def weights(self, optimizer=False):
        """The parameters of the newest checkpoint by name, as numpy arrays.

        With optimizer, it includes the optimizer's states, as in "moment1.embed.token".
        """
        all = self.checkpoints()
        if not all:
            raise FileNotFoundError(f"{self.folder} has no checkpoint yet")
        found = read_weights(all[-1])
        return found if optimizer else {name: x for name, x in found.items() if not _is_state(name)}


def runs(folder="runs"):
    """A DataFrame with a row for each run below a folder: its record, last report, result and settings.

    A run that cannot be read has its error in the column "problem".
    """
    rows = []
    for path in sorted(pathlib.Path(folder).rglob("run.json")):
        if "stage" in _try(lambda: _json(path), {}):
            continue  # the run of the pipeline is a row
        where = path.parent
        row = {"dir": str(where.relative_to(folder))}
        try:
            run = Run(where)
            row.update({key: run.record.get(key) for key in ("name", "seed", "started", "device", "mlc_version")})
            metrics = run.metrics()
            if len(metrics):
                row["step"] = metrics.index[-1]
                row.update({key: metrics[key].iloc[-1] for key in ("loss", "exact_match", "seconds") if key in metrics})
            if (run.folder / "eval" / "result.json").exists():
                row.update({key: run.result().get(key) for key in ("id", "ood", "ood100", "overall")})
            row.update(run.settings)
        except (OSError, ValueError, KeyError, TypeError) as error:
            row["problem"] = str(error)
        rows.append(row)
    return pd.DataFrame(rows)


def read_weights(path):
    """The tensors of a safetensors file of float32, by name, in the order of the file."""
    data = pathlib.Path(path).read_bytes()
    if len(data) < 8:
        raise ValueError(f"{path} is not a safetensors file: it has {len(data)} bytes")
    (length,) = struct.unpack("<Q", data[:8])
    if length > len(data) - 8:
        raise ValueError(f"{path} is truncated, or not a safetensors file")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        if t["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {t['dtype']}; want F32")
        begin, end = (8 + length + offset for offset in t["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(t["shape"])
    return tensors


def _is_state(name):
    return name.split(".")[0] in ("moment1", "moment2", "momentum", "average")


def _json(path):
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def _lines(path):
    """Reports of a file with a JSON object a line; the last line may be incomplete."""
    if not path.exists():
        return pd.DataFrame()
    whole = path.read_text(encoding="utf-8").split("\n")[:-1]
    reports = [json.loads(line) for line in whole]
    return pd.DataFrame(reports).set_index("step") if reports else pd.DataFrame()


def _settings(spec):
    """The value of each attribute of a resolved spec by its path; a named block is also a setting."""
    values, blocks = {}, []
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
                several = words[0] in ("stage", "bias", "mask")
                blocks.append(" ".join(words[:-1]) if several else words[0])
        elif "=" in words:
            at = words.index("=")
            values[".".join(blocks + [" ".join(words[:at])])] = " ".join(words[at + 1 :])
    return values


def _try(read, otherwise):
    try:
        return read()
    except (OSError, ValueError):
        return otherwise
