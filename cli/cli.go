// Package cli is the mlc command, one file a verb. It reads specs, writes generated
// programs, and builds and starts trainers. Packages compiler and codegen do the work
// without input or output.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/interrupt"
)

// verbs declares the command line.
type verbs struct {
	Color   string           `help:"Color messages." enum:"auto,always,never" default:"auto"`
	JSON    bool             `help:"Print results and findings as JSON on standard output, one object per line." name:"json"`
	Quiet   bool             `help:"Do not report written files." short:"q"`
	Verbose bool             `help:"Report each written file and each command run." short:"v"`
	Version kong.VersionFlag `help:"Print the version."`

	Init   initCmd   `cmd:"" group:"day" help:"Create a commented spec, and a module to build it in."`
	Train  trainCmd  `cmd:"" group:"day" help:"Build the trainer of a spec if it is stale, and train."`
	Eval   evalCmd   `cmd:"" group:"day" help:"Test the model of a run: exact match by length."`
	Solve  solveCmd  `cmd:"" group:"day" help:"Answer problems with the model of a run."`
	Runs   runsCmd   `cmd:"" group:"day" help:"List runs: state, last values, and the settings that differ."`
	Label  labelCmd  `cmd:"" group:"day" help:"Give runs a name, tags and a note."`
	Serve  serveCmd  `cmd:"" group:"day" help:"Serve a live page of runs to a browser on this machine."`
	Report reportCmd `cmd:"" group:"day" help:"Write the page of runs as one HTML file."`
	Plot   plotCmd   `cmd:"" group:"day" help:"Draw grids, curves and attention of runs, or print results as tables."`

	Fmt     fmtCmd     `cmd:"" group:"language" help:"Format specs in the standard style."`
	Vet     vetCmd     `cmd:"" group:"language" help:"Find all errors, and likely mistakes."`
	Explain explainCmd `cmd:"" group:"language" help:"Show a spec stage by stage, or explain an error code."`
	LSP     lspCmd     `cmd:"" group:"language" name:"lsp" help:"Serve an editor on standard input and output (see docs/editor)."`

	Build     buildCmd       `cmd:"" group:"ship" help:"Compile specs to Go programs and build them."`
	Export    exportCmd      `cmd:"" group:"ship" help:"Write the model of a run for Python, transformers or ONNX."`
	Attention attentionCmd   `cmd:"" group:"ship" help:"Write attention with a spec's bias for PyTorch."`
	MLflow    mlflowCmd      `cmd:"" group:"ship" name:"mlflow" help:"Send runs to an MLflow server."`
	Board     tensorboardCmd `cmd:"" group:"ship" name:"tensorboard" help:"Write the files of runs that TensorBoard reads."`

	Bench benchCmd `cmd:"" group:"kernels" help:"Time or count the training steps of a spec, kernel by kernel."`
	Diff  diffCmd  `cmd:"" group:"kernels" help:"Compare every kernel with the interpreters."`
	PTX   ptxCmd   `cmd:"" group:"kernels" name:"ptx" help:"Check and run the PTX of any compiler, without a GPU."`
	Prove proveCmd `cmd:"" group:"kernels" help:"Prove that a GPU computes correctly, and measure its speed."`

	Help       helpCmd       `cmd:"" group:"mlc" passthrough:"" help:"Show the help of mlc or of a verb."`
	VersionOf  versionCmd    `cmd:"" group:"mlc" name:"version" help:"Print the version."`
	Info       infoCmd       `cmd:"" group:"mlc" help:"Show versions, the go command, and the processor's features."`
	Completion completionCmd `cmd:"" group:"mlc" help:"Print a shell's completion script for mlc."`

	ProvePart provePartCmd `cmd:"" hidden:"" name:"prove-part" help:"Run one part of prove."`
	Complete  completeCmd  `cmd:"" hidden:"" passthrough:"" help:"List completions of the last word."`
}

// groups are the groups of verbs, in the order of the help.
var groups = []kong.Group{
	{Key: "day", Title: "Every day:"},
	{Key: "language", Title: "The language:"},
	{Key: "ship", Title: "Ship:"},
	{Key: "kernels", Title: "Kernels and GPUs:"},
	{Key: "mlc", Title: "mlc itself:"},
}

// Main runs the mlc command and exits. source has the folder runtime of mlc's source, from
// which trainers are built.
func Main(source fs.FS) {
	// Untouched memory costs nothing. A compilation of a second has a small heap: without
	// this ballast it would spend a third of its time on garbage collection.
	ballast := make([]byte, 64<<20)
	code := Run(source, os.Args[1:], os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// Run runs the command line args and returns the exit code. Results go to out, messages to
// err. Verbs that read use standard input.
func Run(source fs.FS, args []string, out, err io.Writer) int {
	return run(source, build.Maker{}, args, out, err)
}

// newParser returns the parser of the command line.
func newParser(v *verbs, options ...kong.Option) *kong.Kong {
	parser, err := kong.New(v, slices.Concat(flag.Numbers(), options, []kong.Option{kong.Name("mlc"), kong.ExplicitGroups(groups),
		kong.Description("A compiler of small transformers that do arithmetic: a spec becomes a Go program that trains and tests it."),
		kong.Vars{"version": versionLine(), "starters": build.StarterNames(), "kinds": results.PlotKinds(), "orders": results.OrderNames()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true})})...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flag.ShowValues(parser)
	return parser
}

// run is Run with trainers made by a maker.
func run(source fs.FS, by build.Maker, args []string, out, err io.Writer) int {
	var v verbs
	answered := false // by help or version
	parser := newParser(&v, kong.Writers(out, err), kong.Exit(func(int) { answered = true }))
	if len(args) == 0 {
		args = []string{"--help"}
	}
	verb, fail := parser.Parse(args)
	if answered {
		return shell.ExitOK
	}
	if fail != nil {
		verb := flag.Verb(parser, append([]string{"mlc"}, args...))
		if now := nowCalled(strings.TrimPrefix(verb, "mlc "), fail); now != nil {
			fail = now
		} else {
			fail = shell.Usagef("%w (see %s --help)", fail, verb)
		}
		return finish(err, fail)
	}
	if fail := flag.Positive(verb.Flags()); fail != nil {
		return finish(err, shell.Misused(fail))
	}
	ctx, release := interrupt.Context()
	defer release()
	sh := &shell.Shell{Context: ctx, Release: release, In: os.Stdin, Out: out, Err: err, Color: shell.UseColor(v.Color, err),
		JSON: v.JSON, Quiet: v.Quiet, Verbose: v.Verbose}
	return finish(err, verb.Run(sh, build.New(sh, source, by)))
}

// finish prints the error of a verb and returns its exit code.
func finish(w io.Writer, err error) int {
	if err == nil {
		return shell.ExitOK
	}
	if status := shell.ExitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	if e, ok := interrupt.In(err); ok { // whatever it interrupted
		fmt.Fprintf(w, "mlc: %v\n", e)
		return e.ExitCode()
	}
	if !errors.Is(err, shell.ErrShown) {
		fmt.Fprintf(w, "mlc: %v\n", err)
	}
	if errors.As(err, new(shell.UsageError)) {
		return shell.ExitUsage
	}
	return shell.ExitFindings
}
