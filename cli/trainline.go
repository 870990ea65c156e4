package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/flag"
)

// ownFlags are the flags of mlc train that are for mlc, wherever they stand.
type ownFlags struct {
	Set      []string `help:"Set an attribute." sep:"none" placeholder:"PATH=VALUE"`
	Point    []string `help:"In a sweep: only these trainings." sep:"none" placeholder:"AXIS=VALUE"`
	Jobs     int      `help:"Trainings side by side on this machine." placeholder:"N"`
	Collect  bool     `help:"Train nothing; print the table of what is there."`
	Launcher string   `help:"Leave training to another program." enum:"slurm,print,kubernetes," default:""`
	Parallel int      `help:"With --launcher: so many trainings at a time." placeholder:"K"`
	Sbatch   []string `help:"Options for sbatch." sep:"none" placeholder:"'-p gpu -t 4:00:00'"`
}

// ownParser reads ownFlags.
func ownParser(to *ownFlags) *kong.Kong {
	k, err := kong.New(to, append(flag.Numbers(), kong.Name("mlc train"), kong.NoDefaultHelp())...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flag.ShowValues(k)
	return k
}

// names are the flags by what a command line calls them.
func (o *ownFlags) names() map[string]*kong.Flag {
	all := map[string]*kong.Flag{}
	for _, f := range ownParser(o).Model.Flags {
		all["--"+f.Name] = f
	}
	return all
}

// parse reads words of the form --name or --name=value.
func (o *ownFlags) parse(words []string) error {
	if _, err := ownParser(o).Parse(words); err != nil {
		return usageError{err}
	}
	given := func(name string) bool {
		for _, w := range words {
			if before, _, _ := strings.Cut(w, "="); before == name {
				return true
			}
		}
		return false
	}
	switch {
	case given("--jobs") && o.Jobs < 1:
		return usagef("--jobs %d: want 1 or more trainings side by side", o.Jobs)
	case given("--parallel") && o.Parallel < 1:
		return usagef("--parallel %d: want 1 or more trainings at a time", o.Parallel)
	case given("--parallel") && o.Launcher == "":
		return usagef("--parallel is for --launcher: on this machine, --jobs %d makes trainings side by side", o.Parallel)
	case given("--parallel") && o.Launcher == "print":
		return usagef("--parallel: what runs the commands decides how many at a time, as in parallel -j %d", o.Parallel)
	case given("--jobs") && o.Launcher != "":
		return usagef("--jobs is for this machine: with --launcher, --parallel %d is the number of trainings at a time", o.Jobs)
	case len(o.Sbatch) > 0 && o.Launcher != "slurm":
		return usagef("--sbatch is for --launcher slurm")
	case o.Collect && (given("--jobs") || o.Launcher != ""):
		return usagef("--collect trains nothing: leave out --jobs and --launcher")
	}
	return nil
}

// any reports whether some flag is given.
func (o ownFlags) any() bool { return !reflect.ValueOf(o).IsZero() }

// words are the flags of trainings that are made here.
func (o *ownFlags) words() (all []string) {
	for _, s := range o.Set {
		all = append(all, "--set", s)
	}
	for _, p := range o.Point {
		all = append(all, "--point", p)
	}
	if o.Jobs > 0 {
		all = append(all, "--jobs", fmt.Sprint(o.Jobs))
	}
	return all
}
