package train

import (
	"context"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// examples are what follows the run on command lines of the trainer's verbs.
var examples = map[string]string{
	"solve": "[PROBLEM …] [FLAGS OF THE TRAINER], as in mlc solve runs/NAME/… '1+2'",
	"eval":  "[FLAGS OF THE TRAINER], as in mlc eval runs/NAME/… --digits 100",
}

func VerbOfRun(b *build.Builder, name string, args []string, verb *kong.Context) error {
	if len(args) == 0 {
		return shell.Usagef("which run? mlc %s RUN %s (see mlc %[1]s --help)", name, examples[name])
	}
	if args[0] == "--help" || args[0] == "-h" {
		return verb.PrintUsage(false)
	}
	if strings.HasPrefix(args[0], "-") {
		return shell.Usagef("%s comes before the run: flags go after it, as in mlc %s RUN %s", args[0], name, args[0])
	}
	return ofRun(b, name, args[0], args)
}

// ofRun makes the trainer of a run from the spec in it, and becomes it.
func ofRun(b *build.Builder, verb, dir string, flags []string) error {
	if onDevice(flags) == simDevice {
		p, err := project.ProgramOfRun(b.Shell, dir)
		if err != nil {
			return err
		}
		return inProcess(b.Shell, p, verb, flags)
	}
	quiet := Line{flags: flags}.quiet()
	binary, _, err := b.TrainerOf(dir, build.Tells(build.Brief, quiet), func() {})
	if err != nil {
		return err
	}
	return replaced(b.Shell, binary, slices.Concat([]string{shell.CalledBy(), verb}, flags), verb, quiet)
}

// become does a verb of a training's program: it builds that and becomes it, or does the same in
// this process where the device is simulated.
func become(b *build.Builder, verb string, where project.Folders, t project.Training, line Line) error {
	if onDevice(line.flags) == simDevice {
		p, err := project.Compile(b.Shell, t)
		if err != nil {
			return err
		}
		return inProcess(b.Shell, p, verb, line.flags)
	}
	p, err := b.Trainer(where, t, build.Tells(build.Everything, line.quiet()))
	if err != nil {
		return err
	}
	if b.Context.Err() != nil {
		return context.Cause(b.Context)
	}
	return replaced(b.Shell, p.Binary, p.Command(verb, line.flags), verb, line.quiet())
}
