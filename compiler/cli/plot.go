package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/arithlang/mlc/plot"
)

// plotCmd is the verb plot.
type plotCmd struct {
	Runs   []string `arg:"" name:"RUN" help:"Run directories, or files with what solve --thinking --json has printed."`
	Out    string   `help:"Folder for the figures; by default plots, in the run directory if there is one." short:"o" placeholder:"DIR"`
	Format string   `help:"${enum}." enum:"png,svg,pdf" default:"png" placeholder:"png"`
	Eval   string   `help:"Part of the evaluation to draw, a folder below eval: times-8, first_token." placeholder:"FOLDER"`
}

// Help is printed below the usage.
func (plotCmd) Help() string {
	return `Draws what there is: grid, a heat map of both lengths with a red square around what was
trained, the mean over runs of one spec; lengths, the diagonal; loss and training, over examples.

Examples:
  mlc plot runs/looped/20260101-120000-1a2b3c4d
  mlc plot runs/looped/*                         the runs together, into plots
  mlc plot --format svg -o figures runs/looped/* runs/baselines/*
  bin/looped solve RUN 123+456 --thinking --json > t.json && mlc plot t.json`
}

// Run draws the figures of all runs together.
func (c *plotCmd) Run(a *app) error {
	var runs []*plot.Run
	var figures []*plot.Figure
	for _, path := range c.Runs {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			t, err := plot.LoadThinking(path)
			if err != nil {
				return err
			}
			figures = append(figures, plot.Thinking(t))
			continue
		}
		r, err := plot.Load(path, c.Eval)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	drawn, err := plot.Figures(runs)
	if err != nil {
		return err
	}
	figures = append(figures, drawn...)
	if len(figures) == 0 {
		return errors.New("there is nothing to draw yet: the runs have been neither tested nor trained for long enough to have two reports")
	}
	return c.save(a, figures)
}

// save writes the figures and says where.
func (c *plotCmd) save(a *app, figures []*plot.Figure) error {
	dir := c.Out
	if dir == "" {
		dir = "plots"
		if info, err := os.Stat(c.Runs[0]); len(c.Runs) == 1 && err == nil && info.IsDir() {
			dir = filepath.Join(c.Runs[0], dir)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, f := range figures {
		path := filepath.Join(dir, f.Name+"."+c.Format)
		if err := f.Save(path); err != nil {
			return fmt.Errorf("cannot save a figure: %w", err)
		}
		switch {
		case a.json:
			if err := a.printJSON(map[string]string{"figure": f.Name, "file": path}); err != nil {
				return err
			}
		case !a.quiet:
			fmt.Fprintln(a.out, path)
		}
	}
	return nil
}
