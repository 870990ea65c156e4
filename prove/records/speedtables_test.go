package records

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/prove"
	"github.com/arithlang/mlc/prove/beside"
	"github.com/arithlang/mlc/prove/probe"
	"github.com/arithlang/mlc/prove/timing"
	"github.com/arithlang/mlc/runtime/profile"
)

// TestSpeedTables wants a row for each spec and precision with every way of PyTorch, the newest
// record of each part, and nothing from a device without speed.
func TestSpeedTables(t *testing.T) {
	peer := func(name string, ours, theirs float64, g *beside.Graphs) *prove.Part {
		return &prove.Part{Name: name, Peer: &beside.Result{Batch: 512, Ours: ours, Peers: theirs, Ratio: theirs / ours, Graphs: g}}
	}
	timed := &timing.Timing{Batch: 256, GPU: profile.GPU{Ahead: 0.05, Timed: 0.06, Kernels: 12, Rows: []profile.Row{
		{Name: "small", OnGPU: 2, Seconds: 0.001, OfPeak: 0.5, Bound: "memory"}, {Name: "large", OnGPU: 8, Seconds: 0.04, OfPeak: 0.25, Bound: "compute"},
		{Name: "(rest)", Seconds: 0.009}}}}
	result := func(device string, parts ...*prove.Part) *prove.Result {
		return &prove.Result{Device: device, Phases: []*prove.Phase{{Parts: parts}}}
	}
	newer := result("cuda", peer("looped8x2-bf16 compile bf16", 0.05, 0.025, &beside.Graphs{Recompiled: 2}), peer("abs-no-dropout eager tf32", 0.01, 0.02, nil),
		&prove.Part{Name: "looped8x2 bf16 256", Timed: timed}, &prove.Part{Name: "not measured", Peer: &beside.Result{}},
		&prove.Part{Name: "rates bias", Figures: []probe.Figure{{Name: "flex | forward", Value: 12.5, Unit: "µs"}, {Name: "sdpa", Missing: "no backend"}}})
	older := result("cuda", peer("looped8x2-bf16 compile bf16", 1, 1, nil), peer("looped8x2-bf16 packed bf16", 0.05, 0.1, nil))
	got := speedTables([]record{{"new.json", "2026-12-01T10:00:00Z", newer.Speeds()}, {"old.json", "2026-11-26", older.Speeds()}, {"none.json", "2027", result("count", peer("successor eager fp32", 9, 9, nil)).Speeds()}})
	for _, want := range []string{
		"| `looped8x2`, 512 examples, both in bf16 | 50.00 ms | not measured | 25.00 ms, 0.50 (2 graphs compiled meanwhile) | not measured | 100.00 ms, 2.00 | `new.json`, `old.json` |\n",
		"| `bias/addition_abs` without dropout, 512 examples, mlc in fp32, PyTorch in tf32 | 10.00 ms | 20.00 ms, 2.00 | not measured | not measured | not measured | `new.json` |\n",
		"| looped8x2 bf16 256 | *a step of 256 examples* | 12 | 50.00 | | | | `new.json` |\n| | `large` | 8 | 40.00 | 80.0 % | 25 % | compute | |\n| | `(rest)` | 0 | 9.00 | 18.0 % |  |  | |\n| | `small` | 2 | 1.00 | 2.0 % | 50 % | memory | |\n",
		"| flex \\| forward | 12.5 µs | `new.json` |\n| sdpa | no backend | `new.json` |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "successor") || strings.Contains(got, "none.json") {
		t.Errorf("a device without speed is in\n%s", got)
	}
	if got := speedTables(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
