package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/arithlang/mlc/runtime/flag"
)

// trainCmd is the verb train. Its arguments are taken apart here and not by kong,
// which would not let through flags that only the trainer knows.
type trainCmd struct {
	Args []string `arg:"" optional:"" name:"FILE" help:"Spec, then flags of the trainer."`
}

// Help is printed below the usage.
func (trainCmd) Help() string {
	return `mlc train [--set PATH=VALUE] [--point AXIS=VALUE,…] FILE [FLAGS OF THE TRAINER]

--set and --point are for mlc, wherever they stand; all else after FILE goes to the
trainer. mlc train FILE --help shows the trainer's help.

In a sweep, all trainings run in turn, or those that --point chooses: by values of the
axes, by number from 1, or by name. Each has its own run directory, with --out DIR
DIR/NAME, also where only one is chosen. --resume skips finished trainings, even if a run of the same spec under
another name did them, and continues the rest; runs with another seed or budget do
not count. A flag that sets what an axis sets, as --seed does train.seed, is refused.
A table of all results comes last.

Without FILE, --resume --out RUN goes on with a run, from the spec in it.

In a Go module that has mlc, the program is written to generated/ and its binary to bin/.
Anywhere else both are kept in mlc's cache, which MLC_CACHE names.

Examples:
  mlc train specs/successor.arith
  mlc train specs/successor.arith --seed 3 --steps 500 --out runs/trial
  mlc train specs/successor.arith --set model.width=32
  mlc train specs/small/embeddings.arith --point embedding=abacus,seed=1
  mlc train specs/bias/table1.arith --resume`
}

// Run builds the trainer and becomes it.
func (c *trainCmd) Run(a *app, verb *kong.Context) error {
	line, err := splitTrain(c.Args)
	if err != nil {
		return err
	}
	if line.help {
		return verb.PrintUsage(false)
	}
	where, err := findProject("", "")
	if err != nil {
		return err
	}
	if line.file == "" {
		return a.ofRun("train", line.run, line.flags)
	}
	all, err := a.trainings(line.file, where.root, line.set, line.point)
	if err != nil {
		return err
	}
	flags := takeFlags(line.flags)
	if err := flags.refuseAxes(all); err != nil {
		return err
	}
	if len(all) > 1 {
		return a.trainAll(where, all, line)
	}
	if all[0].point.Name != "" && flags.out != "" {
		if line.flags, err = flags.inside(all[0]); err != nil {
			return err
		}
	}
	p, err := a.trainer(where, all[0], line.quiet())
	if err != nil {
		return err
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	a.release()
	return replace(p.binary, p.command(line.flags), os.Environ())
}

// trainer makes the program of a training and its binary, where they are stale.
func (a *app) trainer(where project, t training, quiet bool) (*product, error) {
	start := time.Now()
	if where.apart {
		p, err := a.atHome(t, "")
		if err == nil {
			err = a.makeFresh(p, quiet)
		}
		return p, err
	}
	p, err := where.product(a, t)
	if err != nil {
		return nil, err
	}
	made, err := a.write(p, start)
	if err != nil {
		return nil, err
	}
	switch err := a.link(p, made); {
	case errors.Is(err, errNoGo) && binaryIsNew(p):
	case err != nil:
		return nil, err
	case !quiet:
		a.say("%s", strings.TrimSuffix(made.String(), "\n"))
	}
	return p, nil
}

// command is what trains a product.
func (p *product) command(flags []string) []string {
	if p.calledBy != "" {
		return append([]string{p.calledBy, "train"}, flags...)
	}
	return append([]string{callable(fromHere(p.binary)), "train"}, flags...)
}

// callable is a path as a shell takes it for a command.
func callable(path string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return "." + string(filepath.Separator) + path
	}
	return path
}

// trainLine is the command line of the verb train.
type trainLine struct {
	file  string
	set   []string
	point []string
	flags []string // for the trainer
	run   string   // which is gone on with, where no file is named
	help  bool
}

func (l trainLine) quiet() bool {
	return slices.Contains(l.flags, "--quiet") || slices.Contains(l.flags, "-q")
}

// again is the command line that goes on with what this one has begun.
func (l trainLine) again() string {
	words := []string{"mlc", "train", l.file}
	for _, s := range l.set {
		words = append(words, "--set", s)
	}
	for _, p := range l.point {
		words = append(words, "--point", p)
	}
	words = append(words, l.flags...)
	if !takeFlags(l.flags).resume {
		words = append(words, "--resume")
	}
	return flag.Line(words)
}

func splitTrain(args []string) (l trainLine, err error) {
	own := map[string]struct {
		values *[]string
		form   string
	}{"--set": {&l.set, "PATH=VALUE"}, "--point": {&l.point, "AXIS=VALUE"}}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given := strings.Cut(arg, "=")
		flag, mine := own[name]
		switch {
		case mine && given:
			*flag.values = append(*flag.values, value)
		case mine && len(args) == 0:
			return l, usagef("%s wants %s", name, flag.form)
		case mine:
			*flag.values = append(*flag.values, args[0])
			args = args[1:]
		case l.file != "":
			l.flags = append(l.flags, arg)
		case arg == "--help" || arg == "-h":
			l.help = true
			return l, nil
		case goesOn(append([]string{arg}, args...)):
			l.flags = append([]string{arg}, args...)
			return l.ofRun()
		case strings.HasPrefix(arg, "-"):
			return l, usagef("%s comes before the spec: flags of the trainer go after it, as in mlc train FILE %s", arg, arg)
		default:
			l.file = arg
		}
	}
	if l.file == "" {
		return l.ofRun()
	}
	return l, nil
}

// goesOn says whether flags without a spec go on with a run.
func goesOn(flags []string) bool {
	f := takeFlags(flags)
	return f.resume && f.out != "" && !slices.ContainsFunc(f.rest, func(s string) bool { return strings.HasSuffix(s, ".arith") })
}

// ofRun is a command line without a spec, which goes on with a run.
func (l trainLine) ofRun() (trainLine, error) {
	if goesOn(l.flags) && len(l.set)+len(l.point) == 0 {
		l.run = takeFlags(l.flags).out
		return l, nil
	}
	return l, usagef("which spec? mlc train FILE [FLAGS OF THE TRAINER]; or, of a run that is there, mlc train --resume --out RUN")
}
