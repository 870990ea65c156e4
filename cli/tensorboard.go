package cli

import (
	"github.com/arithlang/mlc/board"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// tensorboardCmd is the verb tensorboard.
type tensorboardCmd struct {
	Runs []string `arg:"" name:"RUN" help:"Run directories."`
}

// Help is printed below the usage.
func (tensorboardCmd) Help() string {
	return `Writes the event files of runs, which TensorBoard shows: tensorboard --logdir runs. mlc train and
mlc eval write them themselves. This verb is for runs of a trainer that was started without mlc.

Example: mlc tensorboard runs/mine/*`
}

// Run writes the files.
func (c *tensorboardCmd) Run(sh *shell.Shell) error {
	for _, dir := range c.Runs {
		if _, err := project.RecordOf(dir); err != nil {
			return err
		}
		if _, err := shell.Await(sh, func() (struct{}, error) { return struct{}{}, board.Write(dir, false) }); err != nil {
			return err
		}
		sh.Say("%s: events are written", dir)
	}
	return nil
}
