package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/thinking"
)

// Figures selects runs, and figures or tables of them.
type Figures struct {
	Runs     []string `arg:"" name:"RUN" help:"Run directories, or files with the output of solve --thinking --json."`
	Kind     string   `help:"Kind of figure." enum:"${kinds}" default:"all"`
	Out      string   `help:"Folder for the figures. Default: plots, in the run directory if there is only one." short:"o" placeholder:"DIR"`
	Format   string   `help:"png, svg, pdf: figures; text, markdown, csv: tables, printed. Default: png." enum:"png,svg,pdf,text,markdown,csv," default:""`
	Eval     string   `help:"Part of the evaluation to draw, a folder below eval: times-8, samples-100, first_token." placeholder:"FOLDER"`
	Each     bool     `help:"Draw a line per run, instead of mean and standard-deviation band of runs that differ only in the seed."`
	LogSteps bool     `help:"Draw loss and training over steps, on a logarithmic axis."`
	Problem  string   `help:"Draw the attention of each head for this problem, while the model answers it." placeholder:"PROBLEM"`
	Layer    int      `help:"With --problem: the layer, from 1 on. Default: the last." placeholder:"N"`
	Group    int      `help:"With --kind bars: group bars by the N-th word in which the names of runs differ. Default: 1." placeholder:"N"`
	Digits   []int    `help:"Lengths as columns of a table. Default: all, or means if there are many." placeholder:"6,10,20"`
}

// PlotKinds lists the values of --kind.
func PlotKinds() string { return "all," + strings.Join(plot.Kinds(), ",") + ",table" }

// Show draws the figures of all runs together, or prints their tables. It returns an error
// if there is nothing to show or the flags exclude each other.
func (c *Figures) Show(sh *shell.Shell) error {
	tables := c.Kind == "table" || slices.Contains(tableFormats, c.Format)
	if err := c.check(tables); err != nil {
		return err
	}
	var runs []*plot.Run
	var figures []*plot.Figure
	for _, path := range c.Runs {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			t, err := shell.Await(sh, func() (*thinking.Thinking, error) { return plot.LoadThinking(path) })
			if err != nil {
				return err
			}
			figures = append(figures, plot.Thinking(t))
			continue
		}
		if len(c.Runs) > 1 && holdsNothing(path) {
			sh.Say("%s has no run in it yet", path)
			continue
		}
		r, err := shell.Await(sh, func() (*plot.Run, error) { return plot.Load(path, c.Eval) })
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	plot.Distinguish(runs)
	if err := c.checkResults(sh, runs); err != nil {
		return err
	}
	if tables {
		return c.print(sh, runs)
	}
	kind, options := c.Kind, plot.Options{Each: c.Each, LogSteps: c.LogSteps, Group: c.Group}
	switch {
	case c.Problem != "":
		kind = "attention"
		options.Ask = func(r *plot.Run) (*plot.Asked, error) { return mapsOf(sh, r.Dir, c.Problem, c.Layer) }
	case kind == "all":
		kind = ""
	}
	drawn, err := shell.Await(sh, func() ([]*plot.Figure, error) { return plot.Figures(runs, kind, options) })
	if err != nil {
		return err
	}
	figures = append(figures, drawn...)
	if len(figures) == 0 {
		return c.nothing()
	}
	if err := c.save(sh, figures); err != nil {
		return err
	}
	if there := c.elsewhere(); there != "" {
		sh.Say("these figures show the tests that the specs ask for%s", there)
	}
	return nil
}

// holdsNothing reports whether a folder neither is a run nor contains any. A training that
// is about to begin has such a folder, and so have a launcher's programs.
func holdsNothing(path string) bool {
	all, err := list.Runs(damage.At(path))
	return err == nil && len(all) == 0
}

// check returns an error for flags that exclude each other.
func (c *Figures) check(tables bool) error {
	switch {
	case tables && c.Format != "" && !slices.Contains(tableFormats, c.Format):
		return shell.Usagef("tables are printed: choose --format text, markdown or csv, or --kind length for a figure")
	case tables && (c.Kind == "loss" || c.Kind == "training"):
		return shell.Usagef("there is no table of --kind %s: choose --format png, svg or pdf (metrics.csv in the run directory has the numbers)", c.Kind)
	case tables && c.Out != "":
		return shell.Usagef("--out is for figures; tables are printed")
	case !tables && c.Digits != nil:
		return shell.Usagef("--digits is for tables: add --kind table")
	case tables && c.Each:
		return shell.Usagef("--each is for figures; tables have a line for each run")
	case c.Problem != "" && (tables || !slices.Contains([]string{"all", "attention"}, c.Kind)):
		return shell.Usagef("--problem draws attention: choose --kind attention and --format png, svg or pdf")
	case c.Group != 0 && (tables || c.Kind != "bars"):
		return shell.Usagef("--group is for --kind bars")
	case c.Group < 0:
		return shell.Usagef("--group %d: words count from 1", c.Group)
	case c.Problem == "" && c.Layer != 0:
		return shell.Usagef("--layer chooses among the attention for a problem: add --problem, such as --problem 129")
	case c.Layer < 0:
		return shell.Usagef("--layer %d: layers count from 1", c.Layer)
	case c.LogSteps && (tables || !slices.Contains([]string{"all", "loss", "training"}, c.Kind)):
		return shell.Usagef("--log-steps is for --kind loss and --kind training")
	}
	return nil
}

// checkResults returns an error if no run has the requested results, and names the runs
// without them.
func (c *Figures) checkResults(sh *shell.Shell, runs []*plot.Run) error {
	var without, others []string
	var tested []int
	for _, r := range runs {
		others = append(others, plot.Evaluations(r.Dir)...)
		if r.Result == nil {
			without = append(without, r.Dir)
			continue
		}
		for _, cell := range r.Result.ByCell {
			tested = append(tested, cell.I)
		}
	}
	if len(without) == len(runs) && c.Eval != "" {
		there := "they only have the one that the spec asks for: leave out --eval"
		if len(others) > 0 {
			there = "there are " + eachOnce(others)
		}
		return shell.Usagef("--eval %s: none of the runs has this evaluation; %s", c.Eval, there)
	}
	for _, n := range c.Digits {
		if len(tested) > 0 && !slices.Contains(tested, n) {
			return shell.Usagef("--digits %d: none of the runs has been tested at this length; tested are %s", n, eachOnce(tested))
		}
	}
	for _, dir := range without {
		switch {
		case c.Eval != "":
			sh.Say("%s has no evaluation %s", dir, c.Eval)
		case len(without) < len(runs) && (c.Kind == "length" || c.Kind == "grid"):
			sh.Say("%s has not been tested", dir)
		}
	}
	return nil
}

// eachOnce writes values in order, without repetitions.
func eachOnce[T cmp.Ordered](values []T) string {
	slices.Sort(values)
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Compact(values)), "[]"), " ", ", ")
}

// elsewhere names the tests of the runs that their specs do not ask for, for example with
// other numbers of samples, as the end of a sentence.
func (c *Figures) elsewhere() string {
	if c.Eval != "" {
		return ""
	}
	var others []string
	for _, dir := range c.Runs {
		others = append(others, plot.Evaluations(dir)...)
	}
	if len(others) == 0 {
		return ""
	}
	return "; they have other tests, which --eval shows: " + eachOnce(others)
}

// nothing returns an error that says why there is nothing to show.
func (c *Figures) nothing() error {
	if slices.ContainsFunc(c.Runs, func(dir string) bool { return list.Of(dir).Bits() != nil }) {
		return fmt.Errorf("a text has no answers to draw by --kind %s: use --kind loss", c.Kind)
	}
	switch c.Kind {
	case "attention":
		return errors.New("there is no attention to show: none of the runs has a finished calibration (specs/bias/*_abc.arith have stages that calibrate); for the attention of another trained run name a problem, such as --problem 129")
	case "bars":
		return errors.New("there are no bars to draw: they show the means of at least two tested runs, and fewer have a result" + c.elsewhere())
	case "grid":
		return errors.New("there is no grid to show: none of the runs has been tested at two different lengths of its operands; test one with " + shell.Hint("eval", "RUN", "--grid", "1..20") + " (for tasks of one operand use --kind length)" + c.elsewhere())
	case "length", "table":
		return errors.New("there is nothing to show yet: the runs have not been tested at two lengths; test one with " + shell.Hint("eval", "RUN", "--digits", "6,10,20") + c.elsewhere())
	}
	return errors.New("there is nothing to draw yet: the runs have not been tested and have fewer than two reports")
}

// save writes the figures and prints their paths.
func (c *Figures) save(sh *shell.Shell, figures []*plot.Figure) error {
	dir, format := c.Out, c.Format
	if dir == "" {
		dir = config.PlotFolder
		info, err := os.Stat(c.Runs[0])
		if err != nil {
			return err
		}
		if len(c.Runs) == 1 && info.IsDir() {
			dir = filepath.Join(c.Runs[0], dir)
		}
	}
	format = cmp.Or(format, "png")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot make the folder for figures: %w: choose another with -o", err)
	}
	for _, f := range figures {
		if sh.Context.Err() != nil {
			return context.Cause(sh.Context)
		}
		path := filepath.Join(dir, f.Name+"."+format)
		done := paths.Turn(dir)
		err := f.Save(path)
		done()
		if err != nil {
			return fmt.Errorf("cannot save a figure: %w", err)
		}
		switch {
		case sh.JSON:
			if err := sh.PrintJSON(map[string]string{"figure": f.Name, "file": path}); err != nil {
				return err
			}
		case !sh.Quiet:
			fmt.Fprintln(sh.Out, path)
		}
	}
	return nil
}
