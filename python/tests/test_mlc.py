"""Holds the package to the command mlc of PATH: errors, training, models, attention and versions."""

import json
import os
import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

import mlc
from mlc import _command

HERE = pathlib.Path(__file__).parent.parent

KERPLE = """arith 2
attention {
  heads = 2
  width = 8
  mask  = causal()
  bias  = kerple
}
bias kerple {
  r1    = learned([H], init = uniform(0, 2), min = 0)
  r2    = learned([H], init = uniform(0, 1), min = 0)
  value = -r1[h] * log(1 + r2[h] * abs(i - j))
}
"""


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLC_CACHE", str(tmp_path / "cache"))
    _command._said_version.cache_clear()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short training of a small model for the quick start's task."""
    folder = tmp_path_factory.mktemp("trained")
    sets = {"model.width": 8, "model.heads": 1, "model.ffn": "relu(hidden = 8)", "train.batch": 4, "eval.digits": [2, 3], "eval.samples": 10}
    return mlc.train(HERE.parent / "specs/successor.arith", sets, out=folder / "run", flags=["--steps", "2", "--device", "cpu"])


BROKEN = {
    "one error": "arith 2\nattention { heads = 4  bias = nope }\n",
    "two errors, and a warning": KERPLE.replace("heads = 2", "heads = -2").replace("r1[h]", "r3[h]") + "mask unused { value = i == j }\n",
    "syntax": "arith 2\nattention { heads = = }\n",
    "no spec": "arith 2\n{",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_spec_error(text):
    pathlib.Path("x.arith").write_text(text)
    with pytest.raises(mlc.SpecError) as raised:
        mlc.attention("x.arith")
    said = subprocess.run(["mlc", "attention", "x.arith", "-o", "x"], capture_output=True, text=True)
    assert said.returncode == 1
    assert str(raised.value) == said.stderr.strip()
    listed = subprocess.run(["mlc", "attention", "x.arith", "-o", "x", "--json"], capture_output=True, text=True).stdout
    want = [json.loads(line) for line in listed.splitlines()]
    assert [vars(f) for f in raised.value.findings] == [{**{k: v for k, v in f.items() if not k.startswith("end_") and k != "notes"}, "help": f.get("help", "")} for f in want]
    first = next(f for f in want if f["severity"] == "error")
    assert (raised.value.file, raised.value.line, raised.value.col) == (first["file"], first["line"], first["col"])


def test_other_errors():
    with pytest.raises(mlc.SpecError, match="cannot read nothing.arith"):
        mlc.attention("nothing.arith")
    with pytest.raises(mlc.SpecError, match="(?s)^--set:1:17: error.*heads"):
        mlc.attention(KERPLE, {"attention.heads": 0})
    with pytest.raises(mlc.Error, match="^.*has nothing to train"):
        mlc.train(KERPLE)
    with pytest.raises(mlc.Error, match="unknown flag --stepz"):
        mlc.train(HERE.parent / "specs/tiny.arith", flags=["--stepz", "3"])
    with pytest.raises(mlc.Error, match="is a sweep of 12 trainings: choose one"):
        mlc.train(HERE.parent / "specs/small/embeddings.arith")
    with pytest.raises(mlc.Error, match="nowhere is no run directory"):
        mlc.load("nowhere")


def test_training_fails():
    os.mkdir("run")
    pathlib.Path("run/run.json").write_text("{")
    with pytest.raises(mlc.Error, match="run"):
        mlc.train(HERE.parent / "specs/tiny.arith", out="run", flags=["--device", "sim"], quiet=True)


def test_train(run, capfd):
    assert run.record["name"] == "successor"
    assert run.settings["model.width"] == "8"
    assert run.record["mlc_version"] == mlc.__version__
    assert list(run.lengths().index) == [2, 3]
    assert list(mlc.runs(run.root.parent)["dir"]) == ["run"]
    assert list(mlc.weights(run)) == list(mlc.weights(run.root)) == list(run.weights())
    shown = run._repr_html_()
    assert shown.count('<img src="data:image/svg+xml;base64,') >= 2
    assert "successor" in shown


def test_output(capfd):
    folder = mlc.train(HERE.parent / "specs/tiny.arith", out="loud", flags=["--steps", "1", "--device", "cpu"]).folder
    said = capfd.readouterr()
    assert str(folder) == "loud" and "run directory loud" in said.err and "exact match" in said.out
    mlc.train(HERE.parent / "specs/tiny.arith", out="mute", flags=["--steps", "1", "--device", "sim"], quiet=True)
    assert capfd.readouterr() == ("", "")


def test_stages():
    """A run of stages is its last training; each has weights of its own."""
    spec = HERE.parent / "specs/small/successor_abc.arith"
    sets = {"model.width": 8, "model.heads": 1, "model.ffn": "relu(hidden = 8)", "eval.samples": 10,
            "calibrate.abc.self.keep": "value >= mean", "calibrate.abc.cross.keep": "value >= mean"}
    with pytest.raises(mlc.Error, match="^successor_abc: stage interpolate: its budget of 1 steps? is used up"):
        mlc.train(spec, sets, out="stopped", flags=["--steps", "1", "--device", "cpu"], quiet=True)
    run = mlc.train(spec, sets, out="staged", flags=["--steps", "1", "--device", "cpu", "--go-on"], quiet=True)
    assert (run.root, run.folder) == (pathlib.Path("staged"), pathlib.Path("staged/extrapolate"))
    first = mlc.Run("staged", "interpolate")
    for r in (run, first):
        net = mlc.load(r)
        np.testing.assert_array_equal(net.weights()["embed.token"].detach().numpy(), r.weights()["embed.token"])
    assert not np.array_equal(run.weights()["embed.token"], first.weights()["embed.token"])


def test_load(run):
    net = mlc.load(run)
    assert isinstance(net, torch.nn.Module)
    weights = run.weights()
    have = {name: w.detach().numpy() for name, w in net.weights().items() if not name.startswith("fixed.")}
    assert have.keys() == weights.keys()
    for name in have:
        np.testing.assert_array_equal(have[name], weights[name])
    said = subprocess.run(["mlc", "solve", "--device", "cpu", str(run.root), "199", "7"], capture_output=True, text=True)
    assert [net.answer("199"), net.answer("7")] == said.stdout.split()
    assert net.about["name"] == "successor"
    tokens = net.source.encode("199")
    assert net.logits([tokens], [net.source.START]).shape[:2] == (1, len(net.source.START))


def test_attention():
    made = mlc.attention(KERPLE)
    query, key, value = (torch.randn(2, 2, 5, 8, dtype=torch.float64) for _ in range(3))
    bias = made.Bias()
    r1, r2 = (r.detach().double()[:, None, None] for r in (bias.r1, bias.r2))
    i, j = torch.arange(5)[:, None], torch.arange(5)[None, :]
    scores = query @ key.mT / 8**0.5 - r1 * torch.log(1 + r2 * (i - j).abs())
    want = torch.where(j <= i, scores, -torch.inf).softmax(-1) @ value
    torch.testing.assert_close(made.attention(query.float(), key.float(), value.float(), bias).double(), want, atol=1e-5, rtol=1e-5)


def test_attention_is_cached(monkeypatch):
    def folders():
        return sorted(p.name for p in (_command.cache("attention")).iterdir())

    made = mlc.attention(KERPLE)
    assert mlc.attention(KERPLE, name="other") is made
    pathlib.Path("k.arith").write_text("// the same spec\n" + KERPLE)
    assert mlc.attention("k.arith") is made
    assert len(folders()) == 1
    wide = mlc.attention("k.arith", {"attention.width": 16})
    assert wide is not made and wide.attention is not made.attention
    assert len(folders()) == 2
    pathlib.Path("k.arith").write_text('arith 2\ninclude "part.arith" {}\n')
    pathlib.Path("part.arith").write_text(KERPLE)
    assert mlc.attention("k.arith") is made
    pathlib.Path("part.arith").write_text(KERPLE.replace("1 + ", "2 + "))
    assert mlc.attention("k.arith") is not made
    for folder in _command.cache("attention").iterdir():
        (folder / "__init__.py").unlink()  # as a full disk may leave it
    del sys.modules[made.__name__]
    assert mlc.attention(KERPLE).attention is not made.attention


def test_warning():
    with pytest.warns(mlc.SpecWarning, match=r"warning\[V\d+ unused_definition\].*unused"):
        mlc.attention(KERPLE + "mask unused { value = i == j }\n")


def test_versions(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mlc.command()
    monkeypatch.setattr(mlc, "__version__", "0.0.1")
    _command._said_version.cache_clear()
    with pytest.warns(mlc.VersionWarning, match=r"the command .*mlc.* is of version \d+\.\d+\.\d+, and the Python package mlc of 0\.0\.1"):
        mlc.command()
    with pytest.warns(mlc.VersionWarning, match=r"the runtime of run is of version "):
        mlc.train(HERE.parent / "specs/tiny.arith", out="run", flags=["--steps", "1", "--device", "sim"], quiet=True)


def test_trainer_error():
    """An error of a trainer is the exception, without the progress before it."""
    text = "x: built in 1.0 s\ntraining x: 9 parameters\nstep 1/2  loss 3.1\nx: gradient at step 1 is not finite\nthere is no checkpoint yet\n"
    assert str(_command.error_of(text)) == "x: gradient at step 1 is not finite\nthere is no checkpoint yet"
    assert str(_command.error_of("a\nmlc: go build failed\nb.go: c\n")) == "go build failed\nb.go: c"


def test_no_command(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(mlc.Error, match="there is no command mlc: install a wheel"):
        mlc.attention(KERPLE)


def test_settings():
    assert _command.settings({"a": True, "b.c": [1, 2.5], "d": "relu(hidden = 8)", "e": 3e-3}) == [
        "--set", "a=true", "--set", "b.c=[1, 2.5]", "--set", "d=relu(hidden = 8)", "--set", "e=0.003"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupt(tmp_path):
    """An interrupt makes the trainer save."""
    program = f"""
import os, signal, threading, mlc
def stop():
    while not os.path.exists("run/metrics.jsonl"):
        pass
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop, daemon=True).start()
mlc.train({str(HERE.parent / "specs/tiny.arith")!r}, out="run", flags=["--steps", "1000000", "--device", "sim"])
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "KeyboardInterrupt" in said.stderr, said.stderr
    assert mlc.Run("run").checkpoints()


def test_module_is_the_command():
    said = subprocess.run([sys.executable, "-m", "mlc", "version"], capture_output=True, text=True)
    assert said.stdout.startswith(f"mlc {mlc.__version__} ")
    said = subprocess.run([sys.executable, "-m", "mlc", "vet", "nothing.arith"], capture_output=True, text=True)
    assert said.returncode == 1 and "cannot read nothing.arith" in said.stderr


def test_notebook():
    """The notebook runs, and its model is right at trained lengths and worse beyond."""
    import nbclient
    import nbformat

    book = nbformat.read(HERE / "bias.ipynb", 4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": "."}}).execute()
    lengths = mlc.Run(next(pathlib.Path("runs/near").iterdir())).lengths()
    assert lengths[6] > 0.95 and lengths[60] < 0.5
    shown = [o for c in book.cells for o in c.get("outputs", [])]
    pages = [o["data"]["text/html"] for o in shown if "text/html" in o.get("data", {})]
    assert any("<img" in page for page in pages) and any("100.00 %" in page for page in pages)
    assert sum("image/png" in o.get("data", {}) for o in shown) == 1
    assert any("'200'" in o.get("data", {}).get("text/plain", "") for o in shown)


def test_guide():
    """The examples of the guide run, one after another, in a folder with the quick start's spec and a run."""
    page = (HERE / "README.md").read_text()
    pathlib.Path("successor.arith").write_text((HERE.parent / "specs/successor.arith").read_text())
    pathlib.Path("kerple.arith").write_text((HERE.parent / "specs/attention/kerple.arith").read_text())
    program = "\n".join(re.findall(r"```python\n(.*?)```", page, re.S))
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
