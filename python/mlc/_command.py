"""Calls the command mlc: where it is, what it prints, and its errors as exceptions."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

#: A spec: its path, or its text if it has several lines.
Spec = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """An error of the command mlc, with the text that it prints."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """A finding in a spec, such as E0301, and its place. A line and a column of 0 mean the whole file."""

    code: str
    severity: str
    file: str
    line: int
    col: int
    message: str
    help: str

    _HEAD = re.compile(r"^(?P<file>.*?)(?::(?P<line>\d+):(?P<col>\d+))?: (?P<severity>error|warning)\[(?P<code>[EV]\d{4}|V\d{3})(?: \w+)?\]: (?P<message>.*)$")
    _HELP = re.compile(r"^ +(?:\| )?= help: (.*)$")

    @classmethod
    def all(cls, text: str) -> List[Finding]:
        """The findings in what mlc prints."""
        found: List[Finding] = []
        for line in text.splitlines():
            if head := cls._HEAD.match(line):
                place = (int(head["line"] or 0), int(head["col"] or 0))
                found.append(cls(head["code"], head["severity"], head["file"], *place, head["message"], ""))
            elif (help := cls._HELP.match(line)) and found:
                found[-1] = dataclasses.replace(found[-1], help=help[1])
        return found


class SpecError(Error):
    """Errors in a spec. The text is the one that mlc prints; findings has their places.

    file, line and col are the place of the first error.
    """

    def __init__(self, text: str, findings: List[Finding]) -> None:
        super().__init__(text)
        self.findings = findings
        first = next((f for f in findings if f.severity == "error"), findings[0])
        self.file, self.line, self.col = first.file, first.line, first.col


class SpecWarning(UserWarning):
    """Likely mistakes in a spec, as mlc prints them."""


class VersionWarning(UserWarning):
    """The command, this package, or the runtime of a trainer have different versions."""


def command() -> str:
    """The path of the command mlc: of this Python environment, or else of PATH."""
    path = _find()
    _said_version(path)
    return path


def _find() -> str:
    folders = [sysconfig.get_path("scripts"), str(pathlib.Path(__file__).parent.parent / "bin")]  # the second: pip install --target
    user = "posix_user" if os.name == "posix" else f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        folders.insert(1, sysconfig.get_path("scripts", user))
    for folder in folders:
        if found := shutil.which("mlc", path=folder):
            return found
    if found := shutil.which("mlc"):
        return found
    raise Error("there is no command mlc: install a wheel of mlc in this environment, or put the command into PATH")


@functools.lru_cache(maxsize=None)
def _said_version(path: str) -> str:
    """The version of a command. A warning says if it is another one than this package's, once."""
    said = subprocess.run([path, "version"], capture_output=True, text=True, encoding="utf-8")
    words = said.stdout.split()
    if said.returncode or len(words) < 2:
        raise Error(f"{path} is not the command mlc: {(said.stderr or said.stdout).strip()}")
    agree(f"the command {path}", words[1])
    return words[1]


def agree(what: str, version: Optional[str]) -> None:
    """Warns if something of mlc has another version than this package."""
    from . import __version__

    if version != __version__:
        warnings.warn(f"{what} is of version {version}, and the Python package mlc of {__version__}: install both from one wheel", VersionWarning, stacklevel=4)


def call(*args: str) -> str:
    """What mlc prints on standard output. Raises the error that it prints, and warns of what it warns of."""
    line = [command(), "--color=never", *args]
    said = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL)
    if said.returncode:
        raise error_of(said.stderr)
    if any(f.severity == "warning" for f in Finding.all(said.stderr)):
        warnings.warn(said.stderr.strip(), SpecWarning, stacklevel=3)
    return said.stdout


def call_json(*args: str) -> List[Dict[str, Any]]:
    """The objects that mlc prints with --json, one a line, without warnings. Errors are the text that it prints without."""
    line = [command(), "--color=never", "--json", *args]
    said = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL)
    if said.returncode:
        call(*args)  # raises the same error as text
        raise error_of(said.stderr)
    return [x for x in map(json.loads, said.stdout.splitlines()) if "severity" not in x]


def error_of(text: str) -> Error:
    """The exception for what mlc has printed on standard error."""
    text = text.strip()
    if findings := Finding.all(text):
        return SpecError(text, findings)
    lines = text.splitlines() or ["mlc failed and said nothing"]
    for head in (r"mlc: ", r"[\w.-]+: "):  # of mlc, or else of a trainer, after its progress
        for begin in range(len(lines) - 1, -1, -1):
            if re.match(head, lines[begin]):
                return Error("\n".join(lines[begin:]).removeprefix("mlc: "))
    return Error("\n".join(lines[-12:]))


def settings(set: Optional[Mapping[str, object]]) -> List[str]:
    """The flags --set of a mapping, such as {"train.seed": 1, "eval.digits": [6, 10]}."""
    return [word for path, value in (set or {}).items() for word in ("--set", f"{path}={_text(value)}")]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)


def file_of(spec: Spec, name: str) -> str:
    """The path of a spec. A text gets a file in the cache, whose path depends only on the text and the name."""
    if not isinstance(spec, str) or not ("\n" in spec or "{" in spec):
        return os.fspath(spec)
    data = spec.encode()
    path = cache("specs", hashlib.sha256(data).hexdigest()[:16]) / f"{name}.arith"
    if not path.exists() or path.read_bytes() != data:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        os.replace(file.name, path)
    return str(path)


def cache(*names: str) -> pathlib.Path:
    """A folder for what can be made again: in the folder that MLC_CACHE names, or in the user's cache."""
    if base := os.environ.get("MLC_CACHE"):
        root = pathlib.Path(base)
    elif sys.platform == "win32":
        root = pathlib.Path(os.environ.get("LOCALAPPDATA", pathlib.Path.home() / "AppData" / "Local"), "mlc")
    elif sys.platform == "darwin":
        root = pathlib.Path.home() / "Library" / "Caches" / "mlc"
    else:
        root = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "mlc")
    folder = root.joinpath("python", *names)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def identity() -> Tuple[str, int, int]:
    """Tells commands apart, of one version, too."""
    path = command()
    about = os.stat(path)
    return _said_version(path), about.st_size, about.st_mtime_ns


def figures(folder: pathlib.Path, *kinds: str) -> Iterator[bytes]:
    """The figures of a run as SVG, as far as there are any."""
    with tempfile.TemporaryDirectory() as scratch:
        for kind in kinds or ("all",):
            subprocess.run([command(), "plot", str(folder), "--kind", kind, "--format", "svg", "-o", scratch], capture_output=True)
        for path in sorted(pathlib.Path(scratch).glob("*.svg")):
            yield path.read_bytes()
