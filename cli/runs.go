package cli

import (
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
)

// runsCmd is the verb runs.
type runsCmd struct {
	Dir    string `arg:"" optional:"" name:"DIR" help:"Folder with runs, in it or below. Default: ${default}." default:"runs"`
	Sort   string `help:"Order of the runs, the best or the newest last." enum:"${orders}" default:"started"`
	Format string `help:"text: for people; csv: a column for each setting that differs." enum:"text,csv" default:"text"`
}

// Help is printed below the usage.
func (runsCmd) Help() string {
	return `Lists runs with their state, their last values and the settings in which those of a
folder differ (with --format csv, in which all do):
  step, loss   of the last report while training
  held out     exact match of that report, on held-out problems
  id, ood      exact match of the test: the mean over lengths of training, and that over
               longer ones, up to 100 digits
  overall      of the problems of a file

Damaged runs are in the list, and what is wrong with them below it.

Examples:
  mlc runs
  mlc runs runs/embeddings --sort ood
  mlc --json runs | jq -r 'select(.state == "stopped") | .dir'
  mlc runs --format csv > runs.csv`
}

// Run prints the list.
func (c *runsCmd) Run(sh *shell.Shell) error {
	return results.List(sh, c.Dir, c.Sort, c.Format == "csv")
}
