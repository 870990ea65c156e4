package cli

import (
	"strings"
	"testing"
)

// TestSummaryOfAbsurdModel wants the memory of a model to be right that is beyond
// integers.
func TestSummaryOfAbsurdModel(t *testing.T) {
	a := &app{ctx: t.Context(), err: t.Output()}
	p, err := a.compile(training{source: source{base: "../..", name: "specs/tiny.arith"}, set: []string{"model.width=65536", "model.ffn=relu(hidden=1Mi)",
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
