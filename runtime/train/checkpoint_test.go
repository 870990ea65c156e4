package train

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/ckpt"
)

// TestRead reads checkpoints under their own names and as the best one, and says what is wrong with
// others.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	meta := map[string]string{"step": "12", "examples": "96", "tokens": "500", "rows": "300", "stopped": "true"}
	for _, c := range []struct{ name, change, to, why string }{
		{checkpointName(12), "", "", ""},
		{Best, "", "", ""},
		{checkpointName(11), "", "", "it is the checkpoint after 12 steps, which is called " + checkpointName(12) + ": give it its name back"},
		{"other.safetensors", "", "", "give it its name back"},
		{checkpointName(12), "tokens", "-1", `it does not say how far it was trained: tokens is "-1"`},
		{checkpointName(12), "step", "", `step is ""`},
	} {
		of := maps.Clone(meta)
		if c.change != "" {
			of[c.change] = c.to
		}
		path := filepath.Join(dir, c.name)
		if err := ckpt.Write(path, ckpt.File{Meta: of, Tensors: []ckpt.Tensor{{Name: "w", Shape: []int{1}, Data: []float32{3}}}}); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		switch {
		case c.why != "":
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v, want %q", c.name, err, c.why)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case got.State != State{Step: 12, Examples: 96, Tokens: 500, Rows: 300, Stopped: true} || got.tensors["w"].Data[0] != 3:
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestStateOf reads the state before the first step, and the time of training if it is there.
func TestStateOf(t *testing.T) {
	meta := map[string]string{"step": "0", "examples": "0", "tokens": "0", "rows": "0"}
	if got, err := stateOf(meta); err != nil || got != (State{}) {
		t.Errorf("%+v, %v", got, err)
	}
	meta[elapsed] = "5"
	if got, err := stateOf(meta); err != nil || got != (State{Elapsed: 5}) {
		t.Errorf("%+v, %v", got, err)
	}
}
