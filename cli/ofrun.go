package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/compiler"
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
With --device sim none is: mlc itself runs the model, on a simulated GPU.

Example: mlc solve runs/mine/* '123'` + flagsOf("solve")
}

// Help is printed below the usage.
func (evalCmd) Help() string {
	return `mlc eval RUN [FLAGS OF THE TRAINER]

The trainer is built from the spec in the run directory, where that has not been done.
With --device sim none is: mlc itself runs the model, on a simulated GPU.

Example: mlc eval runs/mine/* --digits 100` + flagsOf("eval")
}

// Run becomes the trainer of the run.
func (c *solveCmd) Run(a *app, verb *kong.Context) error { return a.verbOfRun("solve", c.Args, verb) }

// Run becomes the trainer of the run.
func (c *evalCmd) Run(a *app, verb *kong.Context) error { return a.verbOfRun("eval", c.Args, verb) }

// examples are what follows the run on command lines of the trainer's verbs.
var examples = map[string]string{
	"solve": "[PROBLEM …] [FLAGS OF THE TRAINER], as in mlc solve runs/NAME/… '1+2'",
	"eval":  "[FLAGS OF THE TRAINER], as in mlc eval runs/NAME/… --digits 100",
}

func (a *app) verbOfRun(name string, args []string, verb *kong.Context) error {
	if len(args) == 0 {
		return usagef("which run? mlc %s RUN %s (see mlc %[1]s --help)", name, examples[name])
	}
	if args[0] == "--help" || args[0] == "-h" {
		return verb.PrintUsage(false)
	}
	if strings.HasPrefix(args[0], "-") {
		return usagef("%s comes before the run: flags go after it, as in mlc %s RUN %s", args[0], name, args[0])
	}
	return a.ofRun(name, args[0], args)
}

// recordOf is the record of a run, or of a stage of one, with the name of its spec.
func recordOf(dir string) (record.Record, error) {
	rec, err := record.Open(dir)
	if rec.Stage != "" {
		rec.Name = strings.TrimSuffix(rec.Name, "/"+rec.Stage)
	}
	if err == nil && checkName(dir, rec.Name) != nil {
		err = fmt.Errorf("%s is damaged: its name %q is that of no spec", record.Path(dir), rec.Name)
	}
	if err == nil && rec.SpecHash == "" {
		err = fmt.Errorf("%s is damaged: it has no spec_hash", record.Path(dir))
	}
	return rec, err
}

// programOfRun compiles the spec in a run.
func (a *app) programOfRun(dir string) (*compiler.Program, error) {
	rec, err := recordOf(dir)
	if err != nil {
		return nil, err
	}
	t, err := a.trainingOf(dir, rec.Name)
	if err != nil {
		return nil, err
	}
	return a.compile(t)
}

// trainerOf is the trainer of a run. One that is not there is built from the spec in the run,
// after building has been called.
func (a *app) trainerOf(dir string, how telling, building func()) (binary string, built bool, err error) {
	rec, err := recordOf(dir)
	if err != nil {
		return "", false, err
	}
	home, err := a.home()
	if err != nil {
		return "", false, err
	}
	binary = filepath.Join(home, "bin", cacheName(rec.Name, rec.SpecHash)+exeSuffix)
	if whole(binary) { // what its spec reads need not be there any more
		touch(binary, sealPath(binary))
		return binary, false, nil
	}
	building()
	binary, err = a.binaryOf(dir, rec.Name, how)
	return binary, true, err
}

// trainingOf is the training that a run is of, from the spec in it.
func (a *app) trainingOf(dir, name string) (training, error) {
	spec := filepath.Join(dir, record.SpecFile)
	s, err := findSource(spec, dir)
	if err != nil {
		return training{}, err
	}
	s.run = dir
	all, err := a.trainingsOf(s, nil, nil)
	if err != nil {
		return training{}, err
	}
	if len(all) != 1 {
		return training{}, fmt.Errorf("%s asks for several trainings, and a run is of one: it has been changed", spec)
	}
	all[0].title = name
	return all[0], nil
}

// binaryOf builds the trainer of a run from the spec in it.
func (a *app) binaryOf(dir, name string, how telling) (string, error) {
	t, err := a.trainingOf(dir, name)
	if err != nil {
		return "", err
	}
	p, err := a.atHome(t, "")
	if err == nil {
		err = a.makeFresh(p, how)
	}
	if errors.Is(err, errShown) {
		a.say("if the spec reads files, copy them to %s, or use the trainer that has trained the run", dir)
	}
	if err != nil {
		return "", err
	}
	return p.binary, nil
}
