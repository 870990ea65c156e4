// Command ptxsim checks the PTX of any compiler and runs its kernels without a GPU.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/ptxsim/command"
)

// commands is the command line.
type commands struct {
	JSON  bool `help:"Print results and findings as JSON on standard output, one object per line." name:"json"`
	Quiet bool `help:"Do not report written files." short:"q"`

	Check command.Check `cmd:"" help:"Check that PTX can run, and list its kernels."`
	Run   command.Run   `cmd:"" help:"Run a kernel without a GPU, and check every access."`
}

// The exit codes. A signal has its own.
const (
	exitOK       = 0
	exitFindings = 1
	exitUsage    = 2
)

func main() { os.Exit(run(os.Args[1:])) }

// run executes the command line args and returns the exit code.
func run(args []string) int {
	var c commands
	answered := false // by help
	parser, bug := kong.New(&c, append(numbers(), kong.Name("ptxsim"), kong.Description("Checks the PTX of any compiler and runs its kernels without a GPU."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Exit(func(int) { answered = true }))...)
	if bug != nil {
		panic("BUG: " + bug.Error())
	}
	showValues(parser)
	parsed, fail := parser.Parse(args)
	if answered {
		return exitOK
	}
	if fail != nil {
		verb := "ptxsim"
		if len(args) > 0 && (args[0] == "check" || args[0] == "run") {
			verb += " " + args[0]
		}
		return finish(command.UsageError{Err: fmt.Errorf("%w (see %s --help)", fail, verb)})
	}
	return finish(parsed.Run(&command.Shell{Context: untilSignal(), Program: "ptxsim", Out: os.Stdout, Err: os.Stderr, JSON: c.JSON, Quiet: c.Quiet}))
}

// finish prints an error and returns its exit code.
func finish(err error) int {
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, command.ErrShown) {
		fmt.Fprintf(os.Stderr, "ptxsim: %v\n", err)
	}
	if s := interrupted(0); errors.As(err, &s) {
		return 128 + int(s)
	}
	if errors.As(err, new(command.UsageError)) {
		return exitUsage
	}
	return exitFindings
}

// interrupted is the signal that ended a command.
type interrupted syscall.Signal

func (interrupted) Error() string { return "interrupted" }

// untilSignal returns a context that ends with the first signal. A second signal has its ordinary
// effect.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(interrupted(s.(syscall.Signal)))
	}()
	return ctx
}

// numbers replaces kong's errors about Go types by errors that ask for a number in plain words.
func numbers() []kong.Option {
	number := func(want string, parse func(v reflect.Value, text string) error) kong.Mapper {
		return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			var text string
			if err := ctx.Scan.PopValueInto(want, &text); err != nil {
				return err
			}
			if parse(target, text) != nil {
				return fmt.Errorf("%.60q: want %s", text, want)
			}
			return nil
		})
	}
	whole := number("a whole number", func(v reflect.Value, text string) error {
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return err
	})
	natural := number("a whole number from 0 on", func(v reflect.Value, text string) error {
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
		return err
	})
	return []kong.Option{kong.KindMapper(reflect.Int, whole), kong.KindMapper(reflect.Int64, whole), kong.KindMapper(reflect.Uint64, natural)}
}

// showValues makes the help show the choices of flags, and move the default after the
// description.
func showValues(parser *kong.Kong) {
	err := kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok && f.Enum != "" {
			f.PlaceHolder = strings.Join(f.EnumSlice(), "|")
			f.Help += " Default: " + f.Default + "."
		}
		return next(nil)
	})
	if err != nil {
		panic("BUG: " + err.Error())
	}
}
