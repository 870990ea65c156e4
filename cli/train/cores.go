package train

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// foretells says whether flags ask for a step on more cores than there are.
func foretells(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool {
		name, _, _ := strings.Cut(f, "=")
		return name == "--cores" || name == "--copying"
	})
}

// foretell builds the program that times the pieces of a training's steps, and becomes it.
func foretell(b *build.Builder, t project.Training, flags []string) error {
	p, err := b.Forecast(t)
	if err != nil {
		return err
	}
	return replaced(b.Shell, p.Binary, append([]string{shell.CalledBy()}, flags...), "bench", false)
}
