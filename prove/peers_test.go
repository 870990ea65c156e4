//go:build unix

package prove

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakePython claims to have PyTorch, and answers numbers of steps with seconds.
const fakePython = `#!/bin/sh
if [ "$1" = -c ]; then echo 2.7.1+cu128 True; exit; fi
echo "$TORCHINDUCTOR_CACHE_DIR $TRITON_CACHE_DIR" >"$PROVE_TEST_CACHES"
[ -n "$PROVE_TEST_GIVES_UP" ] && { echo "CUDA out of memory" >&2; exit 1; }
while read n; do echo 0.5; done
`

// TestPeers looks for PyTorch, and skips a contest in which PyTorch gives up, with the reason.
func TestPeers(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte(fakePython), 0o755); err != nil {
		t.Fatal(err)
	}
	e := &Env{Device: "cuda", reduced: true, open: (&Env{Device: "count"}).Open}
	caches := filepath.Join(t.TempDir(), "caches")
	t.Setenv("PROVE_TEST_CACHES", caches)
	t.Setenv("MLC_PYTHON", python)
	alone := &Env{Device: "cuda", reduced: true, open: e.open}
	if p := conclude(t, runPeers, alone, "successor eager fp32"); p.Verdict != Pass || p.Peer.Rounds != 1 {
		t.Errorf("before it was looked for: %+v", p)
	}
	p := conclude(t, runPeers, e, torch)
	if p.Verdict != Pass || p.Torch == nil || p.Torch.Version != "2.7.1" || !strings.Contains(p.Summary(), "PyTorch 2.7.1 of "+python) {
		t.Errorf("%+v", p)
	}
	t.Setenv("MLC_PYTHON", "/no/such/python") // it is not searched for again
	p = conclude(t, runPeers, e, "successor eager fp32")
	if p.Verdict != Pass || p.Peer.Rounds != 1 || p.Peer.Peers == 0 || p.Peer.Ours == 0 || !strings.Contains(p.Summary(), "PyTorch 2.7.1 in ") {
		t.Errorf("%+v, %+v", p, p.Peer)
	}
	if got, err := os.ReadFile(caches); err != nil || string(got) != e.dir+"/caches/inductor "+e.dir+"/caches/triton\n" {
		t.Errorf("what is compiled is kept in %q, %v", got, err)
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
	want := []string{torch, "looped8x2-bf16 compile bf16", "successor compile tf32", "successor compile bf16", "successor eager fp32", "abs-bf16 compile bf16", "abs compile tf32"}
	if len(names) != 55 || !slices.Equal(names[:len(want)], want) || names[17] != "abs-no-dropout eager fp32" || slices.Contains(names[18:], "abs eager fp32") {
		t.Errorf("the parts are %d, %q", len(names), names)
	}
	for _, n := range names {
		if (contestNeeds(n) > 30*time.Second) == strings.Contains(n+torch, "eager") && n != torch {
			t.Errorf("%s needs %v", n, contestNeeds(n))
		}
	}
	if _, why := peerParts(&Env{Device: "sim"}); why == "" {
		t.Error("PyTorch competes with a simulator")
	}
}

// TestTorchIsSlow checks that the budget is the reason if there was no time to find PyTorch.
func TestTorchIsSlow(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MLC_PYTHON", python)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p := &Part{Name: torch}
	p.conclude(ctx, runPeers(ctx, &Env{Device: "cuda", dir: t.TempDir()}, p))
	if p.Verdict != Cut || p.Reason != "budget: still looking for PyTorch" {
		t.Errorf("%+v", p)
	}
}

// TestBeside checks that a phase that proves nothing ends if its first part is skipped, and does
// not change the verdict if it has no time.
func TestBeside(t *testing.T) {
	t.Parallel()
	table := append(faults(), lanes()...)
	var chosen []phase
	for _, p := range table {
		if p.name == "right" || p.name == "absent" || p.name == "slow" || p.name == "half" {
			p.beside = p.name != "right"
			name := p.name
			p.parts = func(*Env) ([]string, string) { return []string{name + " 1", name + " 2"}, "" }
			chosen = append(chosen, p)
		}
	}
	r, err := run(t.Context(), Options{Device: "sim", Budget: 10 * time.Second, Command: itself()}, chosen)
	if err != nil || !r.Proven() {
		t.Fatalf("%v\n%s", err, r.Page())
	}
	absent, slow, half := r.Phases[1], r.Phases[2], r.Phases[3]
	if len(absent.Parts) != 1 || absent.Verdict != Skipped || absent.Reason == "" {
		t.Errorf("%+v", absent)
	}
	if len(slow.Parts) != 1 || slow.Verdict != Skipped || !strings.Contains(slow.Reason, "budget") {
		t.Errorf("%+v", slow)
	}
	if len(half.Parts) != 2 || half.Verdict != Pass || half.Parts[1].Verdict != Skipped || !strings.Contains(half.Parts[1].Reason, "budget") {
		t.Errorf("%+v", half)
	}
}
