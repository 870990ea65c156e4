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

	"github.com/arithlang/mlc/mlflow"
	ranks "github.com/arithlang/mlc/runtime/comm/launch"
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

--set, --point and the flags below are for mlc, wherever they stand; all else after FILE
goes to the trainer, whose flags stand at the end.

In a sweep, all trainings run in turn, or those that --point chooses: by values of the
axes, by number from 1, or by name. Each has its own run directory, with --out DIR
DIR/NAME, also where only one is chosen. --resume skips finished trainings, even if a run
of the same spec under another name did them, continues the rest, and leaves to other
processes what they are training; runs with another seed or budget do not count. A flag
that sets what an axis sets, as --seed does train.seed, is refused. A table of all results
comes last.

  --jobs N          makes N trainings side by side, each with its share of the cores
  --collect         trains nothing: prints the table, and how far the others are
  --launcher slurm  submits one array of Slurm; --parallel K: K tasks at a time;
                    --sbatch '-p gpu -t 4:00:00': options for sbatch
  --launcher print  prints a command for each training, for GNU parallel and others
  --launcher kubernetes
                    prints the manifest of an Indexed Job
What is launched goes on with what is there, and needs neither Go nor mlc (docs/cluster.md).

With --device sim, mlc itself trains, on a simulated GPU, and builds nothing.

Without FILE, --resume --out RUN goes on with a run, from the spec in it.

In a Go module that has mlc, the program is written to generated/ and its binary to bin/.
Anywhere else both are kept in mlc's cache, which MLC_CACHE names.

Examples:
  mlc train specs/successor.arith
  mlc train specs/successor.arith --seed 3 --steps 500 --out runs/trial
  mlc train specs/successor.arith --set model.width=32
  mlc train specs/small/embeddings.arith --point embedding=abacus,seed=1
  mlc train specs/bias/table1.arith --resume
  mlc train specs/bias/table1.arith --launcher slurm --parallel 8 --sbatch '-t 4:00:00 -c 8'` + flagsOf("train")
}

// Run builds the trainer and becomes it.
func (c *trainCmd) Run(a *app, verb *kong.Context) error {
	if l, several, err := ranks.Find(os.Getenv); err == nil && several {
		return usagef("%s has started mlc as rank %d of %d, and each would build the trainer: run mlc build once, then start its binary as ranks, as in mpirun -n %d bin/NAME train …",
			l.By, l.Rank, l.Size, l.Size)
	}
	if _, err := mlflow.FromEnvironment(); err != nil {
		return usageError{err}
	}
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
	all, err := a.trainings(line.file, where.root, line.own.Set, line.own.Point)
	if err != nil {
		return err
	}
	flags := takeFlags(line.flags)
	if err := flags.refuseAxes(all); err != nil {
		return err
	}
	if seeds, _ := flags.value("--init-seed"); strings.Contains(seeds, "..") && (len(all) > 1 || line.own.Launcher != "" || line.own.Collect) {
		return usagef("--init-seed %s: a training of several models is made alone, and here are %d trainings: choose one by --point", seeds, len(all))
	}
	if onDevice(line.flags) == simDevice && (len(all) > 1 && !line.own.Collect || line.own.Launcher != "") {
		return usagef("--device sim: mlc itself simulates one training: choose one by --point, and leave out --launcher")
	}
	switch {
	case line.own.Launcher != "":
		return a.launch(where, all, line)
	case line.own.Collect:
		return a.collect(where, all, line)
	case len(all) > 1:
		return a.trainAll(where, all, line)
	}
	if all[0].point.Name != "" && flags.out != "" {
		if line.flags, err = flags.inside(all[0]); err != nil {
			return err
		}
	}
	return a.become("train", where, all[0], line)
}

// become does a verb of a training's program: it builds that and becomes it, or does the same in
// this process where the device is simulated.
func (a *app) become(verb string, where project, t training, line trainLine) error {
	if onDevice(line.flags) == simDevice {
		p, err := a.compile(t)
		if err != nil {
			return err
		}
		return a.inProcess(p, verb, line.flags)
	}
	p, err := a.trainer(where, t, tells(everything, line.quiet()))
	if err != nil {
		return err
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return a.replaced(p.binary, p.command(verb, line.flags), verb, line.quiet())
}

// trainer makes the program of a training and its binary, where they are stale.
func (a *app) trainer(where project, t training, how telling) (*product, error) {
	start := time.Now()
	if where.apart {
		p, err := a.atHome(t, "")
		if err == nil {
			err = a.makeFresh(p, how)
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
	switch err := a.link(p, made, how); {
	case errors.Is(err, errNoGo) && p.fresh():
	case err != nil:
		return nil, err
	case how == everything:
		a.say("%s", strings.TrimSuffix(made.String(), "\n"))
	case how == brief && made.announced:
		a.say("%s: built in %.1f s", p.name, time.Since(start).Seconds())
	}
	return p, nil
}

// command is a command line of a product.
func (p *product) command(verb string, flags []string) []string {
	if p.calledBy != "" {
		return append([]string{p.calledBy, verb}, flags...)
	}
	return append([]string{callable(fromHere(p.binary)), verb}, flags...)
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
	own   ownFlags
	flags []string // for the trainer
	run   string   // which is gone on with, where no file is named
	help  bool
}

func (l trainLine) quiet() bool {
	return slices.Contains(l.flags, "--quiet") || slices.Contains(l.flags, "-q")
}

// again is the command line that goes on with what this one has begun.
func (l trainLine) again() string {
	words := append(append(self(), "train", l.file), l.own.words()...)
	words = append(words, l.flags...)
	if !takeFlags(l.flags).resume {
		words = append(words, "--resume")
	}
	return flag.Line(words)
}

func splitTrain(args []string) (l trainLine, err error) {
	own, mine := new(ownFlags).names(), []string(nil)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, _, given := strings.Cut(arg, "=")
		f, isOwn := own[name]
		switch {
		case isOwn && (given || f.IsBool()):
			mine = append(mine, arg)
		case isOwn && len(args) == 0:
			return l, usagef("%s wants %s", name, f.PlaceHolder)
		case isOwn:
			mine = append(mine, name+"="+args[0])
			args = args[1:]
		case l.file != "":
			l.flags = append(l.flags, arg)
		case arg == "--help" || arg == "-h":
			l.help = true
			return l, nil
		case goesOn(append([]string{arg}, args...)):
			l.flags = append([]string{arg}, args...)
			args = nil
		case strings.HasPrefix(arg, "-"):
			return l, usagef("%s comes before the spec: flags of the trainer go after it, as in mlc train FILE %s", arg, arg)
		default:
			l.file = arg
		}
	}
	if err := l.own.parse(mine); err != nil {
		return l, err
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
	if goesOn(l.flags) && !l.own.any() {
		l.run = takeFlags(l.flags).out
		return l, nil
	}
	return l, usagef("which spec? mlc train FILE [FLAGS OF THE TRAINER]; or, of a run that is there, mlc train --resume --out RUN")
}
