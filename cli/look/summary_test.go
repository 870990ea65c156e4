package look

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
)

// TestSummaryOfMatrices counts the buffers for the update of the largest matrix, of 8 by 12
// elements: two of that size, two Gram matrices and a sum.
func TestSummaryOfMatrices(t *testing.T) {
	memory := func(optimizer string) footprint {
		t.Helper()
		sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
		p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/tiny.arith"}, Set: []string{"train.optimizer=" + optimizer}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSummary(p)
		if err != nil {
			t.Fatal(err)
		}
		return s.Memory
	}
	elementwise, matrixwise := memory("adamw"), memory("muon")
	if got, want := matrixwise.PerWorker-elementwise.PerWorker, 4.0*(2*8*12+2*8*8+1); got != want || matrixwise.Shared != elementwise.Shared {
		t.Errorf("muon needs %+v, adamw %+v: %g bytes more for each thread, want %g", matrixwise, elementwise, got, want)
	}
}

// TestSummaryOfAbsurdModel computes the memory of a model that exceeds integers.
func TestSummaryOfAbsurdModel(t *testing.T) {
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/tiny.arith"}, Set: []string{"model.width=65536", "model.ffn=relu(hidden=1Mi)",
		"model.decoder.layers=1024", "train.batch=1Mi", "train.microbatch=1Mi", "task.pad=zero(to=10000, step=1)"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSummary(p)
	if err != nil {
		t.Fatal(err)
	}
	activations := 4 * float64(1<<20) * 1e4 * (1 << 20) * 1024 // feed-forward layers only
	if s.Memory.PerWorker < activations || !strings.Contains(s.String(), "EiB for each thread") {
		t.Errorf("needs %+v, want at least %g\n%s", s.Memory, activations, s)
	}
}

// TestSummary compares the work of a step with its parts: whole micro-batches, a smaller
// last one, and the optimizer once.
func TestSummary(t *testing.T) {
	flops := func(batch, micro int) float64 {
		p, found, err := compiler.Compile(check.Options{Path: "../../specs/tiny.arith", Read: os.ReadFile,
			Set: []string{fmt.Sprint("train.batch=", batch), fmt.Sprint("train.microbatch=", micro)}})
		if err != nil || found.HasErrors() {
			t.Fatal(err, found)
		}
		s, err := newSummary(p)
		if err != nil {
			t.Fatal(err)
		}
		params := 0
		for _, g := range s.Groups {
			params += g.Layers * g.PerLayer
		}
		if params != s.Params {
			t.Errorf("the groups have %d parameters of %d", params, s.Params)
		}
		return s.Step.FLOPs
	}
	one, two, four := flops(1, 1), flops(2, 2), flops(4, 2)
	optimizer := 2*two - four
	if optimizer <= 0 {
		t.Errorf("the optimizer takes %v FLOPs", optimizer)
	}
	if got, want := flops(5, 2), four+one-optimizer; got != want {
		t.Errorf("a batch of 5 by 2 takes %v FLOPs, its parts %v", got, want)
	}
}

// TestSummaryOfTensors says which tensors of an attention are read from files.
func TestSummaryOfTensors(t *testing.T) {
	s := &attentionSummary{Tensors: []attentionTensor{{"r1", []int{8}, true}, {"table", []int{8, 4, 4}, false}}}
	if got := s.String(); !strings.HasSuffix(got, "  r1               [8]\n  table            [8, 4, 4], from a file\n") {
		t.Error(got)
	}
}
