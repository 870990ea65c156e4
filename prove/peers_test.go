//go:build unix

package prove

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakePython says that it has PyTorch, and answers numbers of steps with seconds.
const fakePython = `#!/bin/sh
if [ "$1" = -c ]; then echo 2.7.1+cu128 True; exit; fi
[ -n "$PROVE_TEST_GIVES_UP" ] && { echo "CUDA out of memory" >&2; exit 1; }
while read n; do echo 0.5; done
`

// TestPeers wants PyTorch looked for, and a contest that is skipped with the reason where
// it gives up.
func TestPeers(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte(fakePython), 0o755); err != nil {
		t.Fatal(err)
	}
	e := &Env{Device: "cuda", reduced: true, open: (&Env{Device: "sim"}).Open}
	t.Setenv("MLC_PYTHON", python)
	p := conclude(t, runPeers, e, torch)
	if p.Verdict != Pass || p.Torch == nil || p.Torch.Version != "2.7.1" || !strings.Contains(p.Summary(), "PyTorch 2.7.1 of "+python) {
		t.Errorf("%+v", p)
	}
	p = conclude(t, runPeers, e, "successor eager fp32")
	if p.Verdict != Pass || p.Peer.Rounds != 1 || p.Peer.Peers == 0 || p.Peer.Ours == 0 || !strings.Contains(p.Summary(), "PyTorch 2.7.1 in ") {
		t.Errorf("%+v, %+v", p, p.Peer)
	}
	t.Setenv("PROVE_TEST_GIVES_UP", "1")
	if p := conclude(t, runPeers, e, "successor eager fp32"); p.Verdict != Skipped || !strings.Contains(p.Reason, "PyTorch gave up") || p.Peer.Failed == "" {
		t.Errorf("%+v", p)
	}
	t.Setenv("MLC_PYTHON", "")
	t.Setenv("PATH", t.TempDir())
	if p := conclude(t, runPeers, e, torch); p.Verdict != Skipped || !strings.Contains(p.Reason, "no Python with PyTorch") {
		t.Errorf("without Python: %+v", p)
	}
	names, _ := peerParts(e)
	if len(names) != 19 || !strings.Contains(names[1], " eager ") || !strings.Contains(names[18], " compile ") {
		t.Errorf("the parts are %v", names)
	}
	if _, why := peerParts(&Env{Device: "sim"}); why == "" {
		t.Error("PyTorch takes turns with a simulator")
	}
}

// TestBeside wants a phase beside the proof to end with its first part where that is
// skipped, and to take nothing from the verdict where there is no time for it.
func TestBeside(t *testing.T) {
	t.Setenv(asChild, "1")
	table := faults()
	var chosen []phase
	for _, p := range table {
		if p.name == "right" || p.name == "absent" || p.name == "slow" {
			p.beside = p.name != "right"
			name := p.name
			p.parts = func(*Env) ([]string, string) { return []string{name + " 1", name + " 2"}, "" }
			chosen = append(chosen, p)
		}
	}
	r, err := run(t.Context(), Options{Device: "sim", Budget: 10 * time.Second, Command: []string{os.Args[0]}}, chosen)
	if err != nil || !r.Proven() {
		t.Fatalf("%v\n%s", err, r.Page())
	}
	absent, slow := r.Phases[1], r.Phases[2]
	if len(absent.Parts) != 1 || absent.Verdict != Skipped || absent.Reason == "" {
		t.Errorf("%+v", absent)
	}
	if len(slow.Parts) != 2 || slow.Verdict != Skipped || !strings.Contains(slow.Parts[0].Reason, "budget") {
		t.Errorf("%+v", slow)
	}
}
