"""Trains specs, and shows how far a training is."""

from __future__ import annotations

import html
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any, List, Mapping, Optional, Sequence, Union

from ._command import Error, Spec, agree, call_json, command, error_of, file_of, settings
from ._runs import Run, drawn

#: Seconds between two drawings of a notebook's figures.
_PAUSE = 1.0

#: The line that names the run directory of a training, or of the stages of one.
_PLACE = re.compile(r"(?:^|, )run directory (.*)$")


class _Progress:
    """What a training has printed, and its figures so far."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.folder: Optional[pathlib.Path] = None
        self.ended = False

    def _repr_html_(self) -> str:
        text = html.escape("\n".join(self.lines if self.ended else self.lines[-6:]))
        shown = drawn(self.folder, "loss", "training") if self.folder and not self.ended else ""
        return f"<pre>{text}</pre>{shown}"

    def __repr__(self) -> str:
        return "\n".join(self.lines)


def train(
    spec: Spec,
    set: Optional[Mapping[str, object]] = None,
    *,
    out: Union[str, "os.PathLike[str]", None] = None,
    flags: Sequence[str] = (),
    name: str = "spec",
    quiet: bool = False,
) -> Run:
    """Trains a spec and returns its run, tested.

        >>> run = mlc.train("successor.arith", set={"train.seed": 1})
        >>> run = mlc.train("successor.arith", flags=["--steps", "100", "--device", "cuda"])

    A notebook shows the loss meanwhile; elsewhere lines of progress are printed. An interrupt makes
    the trainer save and stop: mlc.train(spec, out=folder, flags=["--resume"]) goes on.

    Args:
        spec: the path of a spec, or its text.
        set: attributes by path, such as {"train.seed": 1, "eval.digits": [6, 10]}.
        out: the run directory. The default is a new one below runs, in the current directory.
        flags: further flags of mlc train.
        name: the name of a spec given as text.
        quiet: print nothing.

    Raises:
        SpecError: the spec has errors.
        Error: the training failed, or the spec is a sweep of several trainings.
    """
    file, sets = file_of(spec, name), settings(set)
    point = [f for i, f in enumerate(flags) if f.startswith("--point") or i > 0 and flags[i - 1] == "--point"]
    trainings = call_json("explain", file, *sets, *point)
    if len(trainings) > 1:
        raise Error(f"{file} is a sweep of {len(trainings)} trainings: choose one with flags=[\"--point\", \"1\"], or train all with the command mlc train and read them with mlc.runs")
    line = [command(), "--color=never", "train", file, *sets, *flags]
    if out is not None:
        line += ["--out", os.fspath(out)]
    run = Run(_follow(line, None if quiet else _Progress()))
    agree(f"the runtime of {run.root}", run.record.get("mlc_version"))
    return run


def _follow(line: Sequence[str], progress: Optional[_Progress]) -> pathlib.Path:
    """Runs a training and returns its run directory."""
    show = _shower(progress)
    folder: Optional[pathlib.Path] = None
    said: List[str] = []
    # In a group of its own, so that one interrupt reaches it once, and it saves.
    own: Any = {"start_new_session": True} if os.name == "posix" else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    process: subprocess.Popen[str] = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace", **own)
    assert process.stdout is not None and process.stderr is not None
    results: List[str] = []
    reader = threading.Thread(target=lambda out: results.extend(out), args=(process.stdout,), daemon=True)
    reader.start()
    try:
        _each(process.stderr, said, progress, show)
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT if os.name == "posix" else getattr(signal, "CTRL_BREAK_EVENT"))
        _each(process.stderr, said, progress, show)
        process.wait()
        raise
    finally:
        reader.join()
        process.stdout.close()
        process.stderr.close()
    if process.returncode:
        raise error_of("".join(said))
    for text in said:
        if found := _PLACE.search(text):
            folder = pathlib.Path(found[1])
            break
    if folder is None:
        raise Error(f"{' '.join(line)} named no run directory:\n{''.join(said)}")
    if progress is not None:
        progress.ended = True
        progress.lines = [r.rstrip("\n") for r in results]
        show(True, "".join(results))
    return folder


def _each(stream: IO[str], said: List[str], progress: Optional[_Progress], show: Any) -> None:
    """Reads the lines of progress."""
    for text in stream:
        said.append(text)
        if progress is not None:
            progress.lines.append(text.rstrip("\n"))
            if (found := _PLACE.search(text)) and progress.folder is None:
                progress.folder = pathlib.Path(found[1])
            if not text.startswith("mlc: "):  # an error, which is raised
                show(False, text)


def _shower(progress: Optional[_Progress]) -> Any:
    """Returns a function that shows progress: called with whether it is the end, and new text."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if progress is None or shell is None or not hasattr(shell, "kernel"):
        return lambda last, text: print(text, end="", file=sys.stdout if last else sys.stderr, flush=True)
    from IPython.display import display

    handle: Any = display(progress, display_id=True)  # type: ignore[no-untyped-call]
    drawn = time.monotonic()

    def show(last: bool, text: str) -> None:
        nonlocal drawn
        if last or time.monotonic() - drawn >= _PAUSE:
            handle.update(progress)
            drawn = time.monotonic()

    return show
