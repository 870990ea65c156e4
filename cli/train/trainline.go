package train

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flag"
)

// OwnFlags are the flags of mlc train that are for mlc, wherever they stand.
type OwnFlags struct {
	Set      []string `help:"Set an attribute." sep:"none" placeholder:"PATH=VALUE"`
	Point    []string `help:"In a sweep: only these trainings." sep:"none" placeholder:"AXIS=VALUE"`
	Jobs     int      `help:"Trainings at a time: side by side on this machine, or of a launcher." placeholder:"N"`
	Collect  bool     `help:"Train nothing; print the table of what is there."`
	Launcher string   `help:"Leave training to another program." enum:"slurm,print,kubernetes," default:""`
	Sbatch   []string `help:"Options for sbatch." sep:"none" placeholder:"'-p gpu -t 4:00:00'"`
}

// OwnParser reads ownFlags.
func OwnParser(to *OwnFlags) *kong.Kong {
	k, err := kong.New(to, append(flag.Numbers(), kong.Name("mlc train"), kong.NoDefaultHelp())...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flag.ShowValues(k)
	return k
}

// names are the flags by what a command line calls them.
func (o *OwnFlags) names() map[string]*kong.Flag {
	all := map[string]*kong.Flag{}
	for _, f := range OwnParser(o).Model.Flags {
		all["--"+f.Name] = f
	}
	return all
}

// parse reads words of the form --name or --name=value.
func (o *OwnFlags) parse(words []string) error {
	if _, err := OwnParser(o).Parse(words); err != nil {
		return shell.Misused(err)
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
		return shell.Usagef("--jobs %d: want 1 or more trainings at a time", o.Jobs)
	case given("--jobs") && o.Launcher == "print":
		return shell.Usagef("--jobs: what runs the commands decides how many at a time, as in parallel -j %d", o.Jobs)
	case len(o.Sbatch) > 0 && o.Launcher != "slurm":
		return shell.Usagef("--sbatch is for --launcher slurm")
	case o.Collect && (given("--jobs") || o.Launcher != ""):
		return shell.Usagef("--collect trains nothing: leave out --jobs and --launcher")
	}
	return nil
}

// any reports whether some flag is given.
func (o OwnFlags) any() bool { return !reflect.ValueOf(o).IsZero() }

// words are the flags of trainings that are made here.
func (o *OwnFlags) words() (all []string) {
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
