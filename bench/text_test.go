package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
)

// heldOut returns all held-out windows of a text as one batch.
func heldOut(t *testing.T, cfg task.Config) (b peers.Batch) {
	t.Helper()
	made, err := tasks.New(cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	length, _ := made.Extent()
	for p := range made.Each(length, 0, math.MaxInt32) {
		one := made.NewBatch(1, length)
		made.Encode(p, length, one)
		b.Target, b.Labels = append(b.Target, one.Target), append(b.Labels, one.Labels)
	}
	return b
}

// TestTextAgrees trains the starter gpt for 500 steps. Its peer in PyTorch begins with the weights
// and moments after the first step, and reads the same windows. Then both predict the held-out
// text.
func TestTextAgrees(t *testing.T) {
	python := full.Needs(t, full.Python)
	const steps = 500
	b, err := newBuilder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	c := peers.Cases()[slices.IndexFunc(peers.Cases(), func(c peers.Case) bool { return c.Name == "gpt" })]
	trained, err := b.build(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(b.temp, "run")
	call := func(name string, args ...string) []byte {
		t.Helper()
		out, err := output(t.Context(), b.root, name, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	call(trained.binary, "train", "-q", "--out", run, "--steps", "1")
	first := filepath.Join(b.temp, "first.safetensors")
	if err := os.Rename(checkpoint(run, 1), first); err != nil {
		t.Fatal(err)
	}
	var ours struct{ Text eval.Text }
	if err := json.Unmarshal(call(trained.binary, "train", "-q", "--json", "--out", run+"-all", "--steps", strconv.Itoa(steps)), &ours); err != nil {
		t.Fatal(err)
	}

	p := peers.NewProblem(c.Kind, trained.spec, trained.tensors())
	if p.Batches, err = peers.Batches(trained.spec, 1, steps-1); err != nil {
		t.Fatal(err)
	}
	held := heldOut(t, task.Config(trained.spec.Task.Task))
	p.Batches = append(p.Batches, held)
	problem := filepath.Join(b.temp, "problem.json")
	if err := p.Write(problem); err != nil {
		t.Fatal(err)
	}
	const script = `
import sys
sys.path.insert(0, sys.argv[1])
import torch, models, torch_peer
torch.set_num_threads(1)
m = models.read(sys.argv[2])
held = m.batches.pop()
p = torch_peer.Peer(m, models.checkpoint(sys.argv[3]))
p.run(len(m.batches))
with torch.no_grad():
    print(p.module(*p.tensors(p.module.inputs(held))).item())
`
	said := call(python, "-B", "-c", script, filepath.Join(b.root, "bench", "peers"), problem, first)
	theirs, err := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("after %d steps mlc loses %.4f nats a character on held-out text, PyTorch %.4f", steps, ours.Text.Loss, theirs)
	if !(math.Abs(ours.Text.Loss-theirs) < 0.02) || theirs > 2 {
		t.Errorf("mlc loses %.4f nats a character, PyTorch %.4f", ours.Text.Loss, theirs)
	}
}
