package shell

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestSelf wants hints with a program that the user can call.
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
