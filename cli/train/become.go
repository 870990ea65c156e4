package train

import (
	"context"
	"slices"
	"strings"

	"github.com/arithlang/mlc/board"
	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flags"
)

// Eval is the verb eval. It works without the run's trainer.
type Eval struct {
	flags.Machine
	flags.Kept
	flags.Testing
	flags.Profiled
}

// Run runs the trainer of the run, which it builds if needed, and writes the result for
// TensorBoard.
func (c *Eval) Run(b *build.Builder) error {
	if c.Dir == "" {
		return shell.Usagef("which run? mlc eval RUN [FLAGS], as in mlc eval runs/NAME/… --digits 100 (see mlc eval --help)")
	}
	if err := ofRun(b, "eval", c.Dir, c.Device, append(words(c), c.Dir)); err != nil {
		return err
	}
	return board.Write(c.Dir, false)
}

// Solve is the verb solve. It works without the run's trainer.
type Solve struct {
	flags.Machine
	flags.Kept
	flags.Solving
	flags.Profiled
}

// Run becomes the trainer of the run, which it builds if needed.
func (c *Solve) Run(b *build.Builder) error {
	if c.Dir == "" {
		return shell.Usagef("which run? mlc solve RUN [PROBLEM …], as in mlc solve runs/NAME/… '1+2' (see mlc solve --help)")
	}
	all := words(c)
	if slices.ContainsFunc(c.Problems, func(p string) bool { return strings.HasPrefix(p, "-") }) {
		all = append(all, "--")
	}
	return ofRun(b, "solve", c.Dir, c.Device, slices.Concat(all, []string{c.Dir}, c.Problems))
}

// loud returns a builder that reports errors, for a verb whose -q is only for the trainer.
func loud(b *build.Builder) (_ *build.Builder, quiet bool) {
	own := *b.Shell
	own.Quiet = false
	return b.On(&own), b.Quiet
}

// ofRun builds the trainer of a run from the run's spec, and runs it.
func ofRun(b *build.Builder, verb, dir, device string, args []string) error {
	b, quiet := loud(b)
	args = append(saying(quiet && verb != "solve", b.JSON), args...)
	if here(b, device) {
		p, err := project.ProgramOfRun(b.Shell, dir)
		if err != nil {
			return err
		}
		return inProcess(b.Shell, p, verb, args, quiet)
	}
	binary, _, err := b.TrainerOf(dir, build.Tells(build.Brief, quiet), func() {})
	if err != nil {
		return err
	}
	return replaced(b.Shell, binary, slices.Concat([]string{shell.CalledBy(), verb}, args), verb, quiet)
}

// here reports whether this process runs a verb, without a trainer: on the simulated GPU, or on a GPU
// if there is no Go.
func here(b *build.Builder, device string) bool {
	if device == simDevice {
		return true
	}
	if device != "cuda" || build.HasGo() {
		return false
	}
	b.Say("mlc itself uses the GPU, because there is no go command to build a trainer with")
	return true
}

// become builds a training's program and runs it, or runs the verb here.
func become(b *build.Builder, verb string, where project.Folders, t project.Training, device string, args []string, quiet bool) error {
	if here(b, device) {
		p, err := project.Compile(b.Shell, t)
		if err != nil {
			return err
		}
		return inProcess(b.Shell, p, verb, args, quiet)
	}
	p, err := b.Trainer(where, t, build.Tells(build.Everything, quiet))
	if err != nil {
		return err
	}
	if b.Context.Err() != nil {
		return context.Cause(b.Context)
	}
	return replaced(b.Shell, p.Binary, p.Command(verb, args), verb, quiet)
}
