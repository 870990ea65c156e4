package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/serve"
)

// reportCmd is the verb report.
type reportCmd struct {
	Runs  []string `arg:"" name:"RUN" help:"Run directories."`
	Out   string   `help:"File to write. Default: ${default}." short:"o" default:"report.html" placeholder:"FILE.html"`
	Force bool     `help:"Replace an existing file."`
}

// Help is printed below the usage.
func (reportCmd) Help() string {
	return `Writes the page of a run in mlc serve, or of several runs with their comparison, as one
self-contained HTML file: figures, their numbers, the spec, the hardware, and the commands
that repeat the run. An existing file is only replaced with --force.

Examples:
  mlc report runs/successor/*
  mlc report runs/embeddings/* -o embeddings.html`
}

// Run writes the report.
func (c *reportCmd) Run(sh *shell.Shell, b *build.Builder) error {
	if _, err := os.Lstat(c.Out); !c.Force && !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%s exists already: choose another file with -o, or replace it with --force", c.Out)
	}
	text, err := shell.Await(sh, func() ([]byte, error) { return serve.Report(sh.Context, results.Servable(b, "."), c.Runs) })
	if err != nil {
		return err
	}
	if err := ckpt.WriteFile(c.Out, text); err != nil {
		return fmt.Errorf("cannot write the report: %w: choose another file with -o", err)
	}
	if sh.JSON {
		return sh.PrintJSON(map[string]string{"file": c.Out})
	}
	sh.Say("%s  %s", c.Out, shell.Scaled(float64(len(text)), 1024, "B"))
	return nil
}
