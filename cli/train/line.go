// Package train makes trainings: one, or those of a sweep in turn, side by side, by halving, or by
// a launcher of other machines.
package train

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flag"
)

// Line is the command line of the verb train.
type Line struct {
	File  string
	own   OwnFlags
	flags []string // for the trainer
	run   string   // which is gone on with, where no file is named
	Help  bool
}

func (l Line) quiet() bool {
	return slices.Contains(l.flags, "--quiet") || slices.Contains(l.flags, "-q")
}

// again is the command line that goes on with what this one has begun.
func (l Line) again() string {
	words := append(append(shell.Self(), "train", l.File), l.own.words()...)
	words = append(words, l.flags...)
	if !takeFlags(l.flags).resume {
		words = append(words, "--resume")
	}
	return flag.Line(words)
}

func Split(args []string) (l Line, err error) {
	own, mine := new(OwnFlags).names(), []string(nil)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, _, given := strings.Cut(arg, "=")
		f, isOwn := own[name]
		switch {
		case isOwn && (given || f.IsBool()):
			mine = append(mine, arg)
		case isOwn && len(args) == 0:
			return l, shell.Usagef("%s wants %s", name, f.PlaceHolder)
		case isOwn:
			mine = append(mine, name+"="+args[0])
			args = args[1:]
		case name == "--parallel":
			return l, shell.Usagef("--parallel is called --jobs now (see mlc train --help)")
		case l.File != "":
			l.flags = append(l.flags, arg)
		case arg == "--help" || arg == "-h":
			l.Help = true
			return l, nil
		case goesOn(append([]string{arg}, args...)):
			l.flags = append([]string{arg}, args...)
			args = nil
		case strings.HasPrefix(arg, "-"):
			return l, shell.Usagef("%s comes before the spec: flags of the trainer go after it, as in mlc train FILE %s", arg, arg)
		default:
			l.File = arg
		}
	}
	if err := l.own.parse(mine); err != nil {
		return l, err
	}
	if l.File == "" {
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
func (l Line) ofRun() (Line, error) {
	if goesOn(l.flags) && !l.own.any() {
		l.run = takeFlags(l.flags).out
		return l, nil
	}
	return l, shell.Usagef("which spec? mlc train FILE [FLAGS OF THE TRAINER]; or, of a run that is there, mlc train --resume --out RUN")
}
