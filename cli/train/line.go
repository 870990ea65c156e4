// Package train runs trainings: one, or the trainings of a sweep one after another, side by
// side, by halving, or through a launcher on other machines.
package train

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
)

// Of selects trainings of a spec.
type Of struct {
	Set   []string `help:"Set an attribute: --set model.width=32." sep:"none" placeholder:"PATH=VALUE"`
	Point []string `help:"In a sweep: only these trainings." sep:"none" placeholder:"AXIS=VALUE,…"`
}

// How says how the trainings of a sweep run.
type How struct {
	Jobs     int     `help:"Trainings at a time, on this machine or through a launcher." positive:"4" placeholder:"N"`
	Collect  bool    `help:"Train nothing; print the table of results so far."`
	DryRun   bool    `help:"Train nothing; print what would be trained, with a measured step, its memory and the time." name:"dry-run"`
	Launcher string  `help:"Leave training to another program." enum:"slurm,print,kubernetes," default:""`
	Sbatch   options `help:"With --launcher slurm: options for sbatch." sep:"none" placeholder:"'-p gpu -t 4:00:00'"`
}

// options are for another program, so they may begin with a hyphen.
type options []string

// Decode takes the word after the flag, even if it begins with a hyphen.
func (o *options) Decode(ctx *kong.DecodeContext) error {
	word := ctx.Scan.Pop()
	if word.IsEOL() {
		return errors.New("missing value, expecting options of sbatch, such as '-p gpu -t 4:00:00'")
	}
	*o = append(*o, fmt.Sprint(word.Value))
	return nil
}

// check returns an error for flags that exclude each other.
func (h *How) check() error {
	switch {
	case h.Jobs > 0 && h.Launcher == "print":
		return shell.Usagef("--jobs: the program that runs the commands chooses their number, as in parallel -j %d", h.Jobs)
	case len(h.Sbatch) > 0 && h.Launcher != "slurm":
		return shell.Usagef("--sbatch is for --launcher slurm")
	case h.DryRun && (h.Collect || h.Launcher != ""):
		return shell.Usagef("--dry-run measures on this machine: leave out --collect and --launcher")
	case h.Collect && (h.Jobs > 0 || h.Launcher != ""):
		return shell.Usagef("--collect trains nothing: leave out --jobs and --launcher")
	}
	return nil
}

// A Line is the command line of the verb train.
type Line struct {
	File string `arg:"" optional:"" name:"FILE" help:"Spec."`
	Of
	How
	Flags
}

// check returns an error for a command line without a task, or with flags that exclude each
// other.
func (l *Line) check() error {
	if err := l.How.check(); err != nil {
		return err
	}
	if err := l.Label.Check(); err != nil {
		return shell.Usagef("%w", err)
	}
	alone := l.Flags
	if l.File == "" && (alone.Resume == flags.Begins || alone.Out == "" || !reflect.ValueOf(l.Of).IsZero() || !reflect.ValueOf(l.How).IsZero()) {
		return shell.Usagef("which spec? mlc train FILE, or for an existing run mlc train --resume --out RUN")
	}
	return nil
}

// again returns the command line that resumes this one.
func (l Line) again(quiet bool) string {
	if l.Resume == flags.Begins {
		l.Resume = flags.Resumes
	}
	return flag.Line(append(shell.Self(), l.words(quiet)...))
}

// words returns the command line of trainings on this machine.
func (l *Line) words(quiet bool) []string {
	all := append([]string{"train", l.File}, words(&l.Of)...)
	if l.Jobs > 0 {
		all = append(all, "--jobs", fmt.Sprint(l.Jobs))
	}
	all = append(all, words(&l.Flags)...)
	if quiet {
		all = append(all, "-q")
	}
	return all
}
