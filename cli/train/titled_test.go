package train

import (
	"io"
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
		w.Write([]byte("a"))
		w.Write([]byte("\n"))
		w.Write([]byte("b\n"))
	}
	if b.String() != "seed=1:\na\nb\n" {
		t.Errorf("%q", b.String())
	}
	r, full := io.Pipe()
	r.Close()
	if n, err := (&titled{to: full, name: "seed=1"}).Write([]byte("a")); n != 0 || err == nil {
		t.Errorf("where the title cannot be written, %d bytes are, %v", n, err)
	}
}

// TestTrainingsAtOnce counts trainings in words.
func TestTrainingsAtOnce(t *testing.T) {
	for want, c := range map[string][2]int{"1 training": {1, 0}, "3 trainings": {3, 0}, "3 trainings, 2 at a time,": {3, 2}, "1 training, 1 at a time,": {1, 1}} {
		if got := trainingsAtOnce(c[0], c[1]); got != want {
			t.Errorf("%d, %d at once: %q, want %q", c[0], c[1], got, want)
		}
	}
}
