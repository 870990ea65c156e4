package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/record"
)

// solveCmd and evalCmd are verbs of a trainer, for a run wherever its trainer is. Their
// arguments are the trainer's, but that the run comes first.
type (
	solveCmd struct {
		Args []string `arg:"" optional:"" name:"RUN" help:"Run directory, then what the trainer's verb takes."`
	}
	evalCmd struct {
		Args []string `arg:"" optional:"" name:"RUN" help:"Run directory, then what the trainer's verb takes."`
	}
)

// Help is printed below the usage.
func (solveCmd) Help() string {
	return `mlc solve RUN [PROBLEM …] [FLAGS OF THE TRAINER]

The trainer is built from the spec in the run directory, where that has not been done.
mlc solve RUN --help shows the trainer's flags.

Example: mlc solve runs/mine/* '123'`
}

// Help is printed below the usage.
func (evalCmd) Help() string {
	return `mlc eval RUN [FLAGS OF THE TRAINER]

The trainer is built from the spec in the run directory, where that has not been done.
mlc eval RUN --help shows the trainer's flags.

Example: mlc eval runs/mine/* --digits 100`
}

// Run becomes the trainer of the run.
func (c *solveCmd) Run(a *app, verb *kong.Context) error { return a.verbOfRun("solve", c.Args, verb) }

// Run becomes the trainer of the run.
func (c *evalCmd) Run(a *app, verb *kong.Context) error { return a.verbOfRun("eval", c.Args, verb) }

func (a *app) verbOfRun(name string, args []string, verb *kong.Context) error {
	if len(args) == 0 {
		return usagef("%w", errNoRun)
	}
	if args[0] == "--help" || args[0] == "-h" {
		return verb.PrintUsage(false)
	}
	if strings.HasPrefix(args[0], "-") {
		return usagef("%s comes before the run: flags go after it, as in mlc %s RUN %s", args[0], name, args[0])
	}
	return a.ofRun(name, args[0], args)
}

// trainingOf is what a run directory is the run of.
func (a *app) trainingOf(dir string) (training, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return training{}, fmt.Errorf("there is no run directory %s", dir)
	}
	rec, err := record.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return training{}, fmt.Errorf("%s is no run directory: it has no %s", dir, filepath.Base(record.Path(dir)))
	}
	if err != nil {
		return training{}, err
	}
	all, err := a.trainings(filepath.Join(dir, record.SpecFile), dir, nil, nil)
	if err != nil {
		return training{}, err
	}
	if len(all) != 1 {
		return training{}, fmt.Errorf("%s asks for several trainings, and a run is of one: it has been changed", filepath.Join(dir, record.SpecFile))
	}
	all[0].title = rec.Name
	return all[0], nil
}
