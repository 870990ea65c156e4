package cli

import (
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
)

// runsCmd is the verb runs.
type runsCmd struct {
	Dir    string   `arg:"" optional:"" name:"DIR" help:"Folder with runs, in it or below. Default: ${default}." default:"runs"`
	Sort   string   `help:"Order of the runs; the best or the newest is last." enum:"${orders}" default:"started"`
	Tag    []string `help:"Only runs with this tag. Repeat it for several tags." sep:"none" placeholder:"WORD"`
	Find   string   `help:"Only runs whose directory, label, state or settings contain these words." placeholder:"WORDS"`
	Format string   `help:"text: for people; csv: a column for each setting that differs." enum:"text,csv" default:"text"`
}

// Help is printed below the usage.
func (runsCmd) Help() string {
	return `Lists runs with their state, their last values, and the settings that differ within a
folder (with --format csv: between all runs):
  step, loss   of the last report during training
  held out     exact match in that report, on held-out problems
  id, ood      exact match in the test: the mean over the lengths of training, and the
               mean over longer ones, up to 100 digits
  overall      the mean over the problems of a file
  label        name, tags and note, which mlc label gives

Damaged runs are listed too, with their problems below the list.

Examples:
  mlc runs
  mlc runs runs/embeddings --sort ood
  mlc runs --tag ablation --find 'tested width = 32'
  mlc --json runs | jq -r 'select(.state == "stopped") | .dir'
  mlc runs --format csv > runs.csv`
}

// Run prints the list.
func (c *runsCmd) Run(sh *shell.Shell) error {
	return results.List(sh, c.Dir, results.Filter{Tags: c.Tag, Words: c.Find}, c.Sort, c.Format == "csv")
}
