package cli

import (
	"fmt"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/mlflow"
	"github.com/arithlang/mlc/runtime/flag"
)

// mlflowCmd is the verb mlflow.
type mlflowCmd struct {
	Runs []string `arg:"" name:"RUN" help:"Run directories."`
}

// Help is printed below the usage.
func (mlflowCmd) Help() string {
	return `Sends runs to the MLflow server that MLFLOW_TRACKING_URI names, except the parts that it has
already. mlc train sends its runs itself. This verb is for runs of a trainer that was started
without mlc, and for reports that the server has missed.

Example: MLFLOW_TRACKING_URI=http://localhost:5000 mlc mlflow runs/mine/*`
}

// Run sends the runs.
func (c *mlflowCmd) Run(sh *shell.Shell) error {
	server, err := mlflow.FromEnvironment()
	if err != nil {
		return shell.Misused(err)
	}
	if server == nil {
		return shell.Usagef("which server? MLFLOW_TRACKING_URI=http://localhost:5000 mlc mlflow %s", flag.Line(c.Runs))
	}
	for _, dir := range c.Runs {
		if _, err := project.RecordOf(dir); err != nil {
			return err
		}
		if _, err := shell.Await(sh, func() (struct{}, error) { return struct{}{}, server.Send(dir, false) }); err != nil {
			return fmt.Errorf("MLflow: %w", err)
		}
		sh.Say("%s: sent to %s", dir, server.URI)
	}
	return nil
}
