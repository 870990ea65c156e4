package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestSelf wants hints to name a program that is where the user is.
func TestSelf(t *testing.T) {
	there := func(string) (string, error) { return "/usr/bin/mlc", nil }
	missing := func(string) (string, error) { return "", errors.New("not in PATH") }
	for _, c := range []struct {
		executable, typed string
		find              func(string) (string, error)
		want              string
	}{
		{"/usr/bin/mlc", "mlc", there, "mlc"},
		{"/tmp/go-build123/b001/exe/mlc", "/tmp/go-build123/b001/exe/mlc", missing, "go run ."},
		{"/home/u/mlc/mlc", "../mlc/mlc", missing, "../mlc/mlc"},
	} {
		if got := selfOf(c.executable, c.typed, c.find); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s, typed %s: %q, want %s", c.executable, c.typed, got, c.want)
		}
	}
}

// TestTitled puts the name of a training above its results, and nowhere without any.
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
