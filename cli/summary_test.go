package cli

import (
	"strings"
	"testing"
)

// TestSummaryOfMatrices counts what the update of the largest matrix takes: of 8 by 12
// elements two as large, two Gram matrices and a sum.
func TestSummaryOfMatrices(t *testing.T) {
	memory := func(optimizer string) footprint {
		t.Helper()
		a := &app{ctx: t.Context(), err: t.Output()}
		p, err := a.compile(training{source: source{base: "..", name: "specs/tiny.arith"}, set: []string{"train.optimizer=" + optimizer}})
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

// TestSummaryOfAbsurdModel wants the memory of a model to be right that is beyond
// integers.
func TestSummaryOfAbsurdModel(t *testing.T) {
	a := &app{ctx: t.Context(), err: t.Output()}
	p, err := a.compile(training{source: source{base: "..", name: "specs/tiny.arith"}, set: []string{"model.width=65536", "model.ffn=relu(hidden=1Mi)",
		"model.decoder.layers=1024", "train.batch=1Mi", "train.microbatch=1Mi", "task.pad=zero(to=10000, step=1)"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSummary(p)
	if err != nil {
		t.Fatal(err)
	}
	activations := 4 * float64(1<<20) * 1e4 * (1 << 20) * 1024 // of the feed-forward layers alone
	if s.Memory.PerWorker < activations || !strings.Contains(s.String(), "EiB for each thread") {
		t.Errorf("needs %+v, want at least %g\n%s", s.Memory, activations, s)
	}
}
