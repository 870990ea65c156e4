package train

import (
	"strings"
	"testing"
)

// TestTitled puts the name of a training above its results, but not above an empty output.
func TestTitled(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{"seed=1", "seed=2"} {
		w := &titled{to: &b, name: name}
		if name == "seed=2" {
			w.Write(nil)
			continue
		}
		w.Write([]byte("a\n"))
		w.Write([]byte("b\n"))
	}
	if b.String() != "seed=1:\na\nb\n" {
		t.Errorf("%q", b.String())
	}
}
