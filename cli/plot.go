package cli

import (
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
)

// plotCmd is the verb plot.
type plotCmd struct {
	results.Figures `embed:""`
}

// Help is printed below the usage.
func (plotCmd) Help() string {
	return `Draws the available figures:
  grid       heat map of both lengths, mean over seeds; a red square marks the
             trained lengths
  length     exact match by length
  bars       means over lengths (ood and ood100, otherwise id) of at least two runs: a
             bar for the mean of runs that differ only in the seed, with a whisker from
             the least seed to the most; bars are grouped by the first word in which the
             names of runs differ, or by word N with --group N, the next word is their
             colour, and further words make panels
  loss       loss during training, on training and held-out problems where both were
             measured; each stage of a run has its own line
  training   exact match during training, likewise; both have a line for each length
             that eval.during tests
  attention  for each head of a calibration: the attention read, and the bias made
             from it; with --problem, for each head of a trained model: its attention
             while the model answers the problem
  table      exact match, one run per line; attention as a table: the lines that each
             head keeps

For runs that differ only in the seed, length, loss and training show the mean with a
band of one standard deviation (over n seeds, with n-1; for loss, of its logarithm),
where all runs were measured. --each draws a line for each run instead.

Examples:
  mlc plot runs/looped/20260101-120000-1a2b3c4d
  mlc plot runs/looped/*                         the runs together, into plots
  mlc plot --kind length --format svg -o figures runs/addition_*/*
  mlc plot --kind bars --group 2 runs/figure17/*
  mlc plot --kind training --log-steps runs/grokking/*
  mlc plot --kind length --format text RUN       exact match as bars of characters
  mlc plot --kind table --format markdown --digits 6,10,20,60 runs/addition_*/*
  mlc plot --kind attention --format text RUN    the lines of a calibration
  mlc plot --problem 0361+7489 RUN               attention of each head for one problem
  mlc solve RUN 123+456 --thinking --json > t.json && mlc plot t.json`
}

// Run draws the figures of all runs together, or prints their tables.
func (c *plotCmd) Run(sh *shell.Shell) error { return c.Show(sh) }
