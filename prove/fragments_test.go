package prove

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// TestReplay records on the simulator, writes and reads the result, and replays it; then with one
// bit of one result changed.
func TestReplay(t *testing.T) {
	p := conclude(t, runFragments, &Env{Device: "sim", Seed: 3}, "warp")
	if f := p.Fragments; p.Verdict != Pass || f.Probes == 0 || f.Results == 0 || f.Different != 0 || f.Recording == nil {
		t.Fatalf("%+v", p)
	}
	r := &Result{Format: format, Phases: []*Phase{{Name: "fragments", Parts: []*Part{p}}}}
	path := filepath.Join(t.TempDir(), "r.json")
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Replay(t.Context(), r)
	if page := ReplayPage(r, report); err != nil || len(report.Differences) != 0 || !strings.Contains(page, "the simulator matches the recording") {
		t.Errorf("%v\n%s", err, page)
	}
	one := r.Phases[0].Parts[0].Fragments.Recording.Probes[0]
	one.Outputs[len(one.Outputs)/2] ^= 1
	report, err = Replay(t.Context(), r)
	page := ReplayPage(r, report)
	if err != nil || len(report.Differences) != 1 || !strings.Contains(page, one.Name+", case ") || !strings.Contains(page, "in 1 of ") {
		t.Errorf("with a bit changed in %s: %v\n%s", one.Name, err, page)
	}
	if _, err := Replay(t.Context(), &Result{}); err == nil || !strings.Contains(err.Error(), "no recording") {
		t.Errorf("of nothing: %v", err)
	}
}

// TestUnknown checks that an unknown instruction is an error on a card but not on the simulator,
// and that groups that a device lacks are skipped.
func TestUnknown(t *testing.T) {
	p := conclude(t, runFragments, &Env{Device: "sim"}, "mbarrier")
	if p.Verdict != Pass || p.Fragments.Unknown == 0 || p.Fragments.Unknown > p.Fragments.Probes {
		t.Errorf("%+v", p)
	}
	card := &Env{Device: "cuda", open: (&Env{Device: "sim"}).Open}
	if p := conclude(t, runFragments, card, "mbarrier"); p.Verdict != Fail || len(p.Wrong) == 0 {
		t.Errorf("on a card: %+v", p)
	}
	if p := conclude(t, runFragments, &Env{Device: "sim"}, "wgmma"); p.Verdict != Skipped || !strings.Contains(p.Reason, "none of these instructions") {
		t.Errorf("on an older device: %+v", p)
	}
}

// boxer is a device that fails to load kernels of boxes, and then to close, or whose kernels do
// nothing.
type boxer struct {
	cuda.Driver
	failed error
}

func (b boxer) Describe(cuda.Tensor) (r [128]byte, err error) { return r, nil }

func (b boxer) Close() error { return errors.Join(b.Driver.Close(), b.failed) }

func (b boxer) Load(string) (cuda.Module, error) {
	if b.failed != nil {
		return nil, b.failed
	}
	return b.Driver.Load(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry probe(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }")
}

// TestRefused checks that a part passes if the card refuses what it should, although the card is
// lost, and fails if the card does anything else.
func TestRefused(t *testing.T) {
	illegal := &cuda.Error{Code: 715, Name: "CUDA_ERROR_ILLEGAL_INSTRUCTION", Doing: "load PTX"}
	for _, c := range []struct {
		group  string
		failed error
		want   Verdict
		why    string
	}{
		{"box unaligned", illegal, Pass, ""},
		{"box unaligned", &cuda.Error{Code: cuda.IllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"}, Fail, "ILLEGAL_ADDRESS"},
		{"box unaligned", nil, Fail, "it ran, although"},
		{"box 64 8 swizzle 0", illegal, Fail, "ILLEGAL_INSTRUCTION"},
		{"box 64 8 swizzle 0", nil, Fail, "case 0"},
	} {
		e := &Env{Device: "cuda", open: func() (cuda.Driver, error) {
			d, err := simulated.Open(ptxsim.Options{Arch: 90})
			return boxer{d, c.failed}, err
		}}
		p := conclude(t, runFragments, e, c.group)
		if p.Verdict != c.want || p.Fragments == nil || (len(p.Wrong) == 0) != (c.want == Pass) || !strings.Contains(strings.Join(p.Wrong, "\n"), c.why) {
			t.Errorf("%s, %v: %s, %q, %q", c.group, c.failed, p.Verdict, p.Reason, p.Wrong)
		}
	}
}
