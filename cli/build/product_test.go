package build

import (
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// BenchmarkBuild measures mlc build --no-binary without writing. The goal is half a second.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		where := project.Folders{Root: b.TempDir()}
		t := project.Training{Source: project.Source{Name: "../../specs/successor.arith"}}
		if _, err := New(&shell.Shell{Context: b.Context(), Err: b.Output()}, nil, Maker{}).Product(where, t); err != nil {
			b.Fatal(err)
		}
	}
}
