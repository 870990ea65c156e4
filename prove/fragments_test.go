package prove

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReplay records on the simulator, writes and reads the result, and replays it; then
// with one bit of one result changed.
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
	if page := ReplayPage(r, report); err != nil || len(report.Differences) != 0 || !strings.Contains(page, "the simulator does what was recorded") {
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

// TestUnknown wants instructions that the simulator does not know to be no mistake there,
// but one of a card; and groups that a device has not to be skipped.
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
