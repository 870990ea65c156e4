package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/serve"
)

// serveCmd is the verb serve.
type serveCmd struct {
	Dir  string `arg:"" optional:"" name:"DIR" help:"Folder with runs, in it or below. Default: ${default}." default:"runs"`
	Port int    `help:"Port to listen on. Default: 7177, or the next free one." placeholder:"N"`
	Open bool   `help:"Open the page in a browser."`
}

// Help is printed below the usage.
func (serveCmd) Help() string {
	return `Serves pages of the runs below a folder, only to this machine, until Ctrl-C. The pages
follow running trainings and compare runs, and the model of a run answers problems there.
Nothing is written to the folder. The printed address contains a secret token, without
which other users of this machine get no page.

Examples:
  mlc serve
  mlc serve runs/embeddings --open
  mlc serve --port 8000`
}

// Run serves until a signal comes.
func (c *serveCmd) Run(sh *shell.Shell, b *build.Builder) error {
	if c.Port < 0 || c.Port > 65535 {
		return shell.Usagef("--port %d: want 1 to 65535", c.Port)
	}
	s, err := serve.New(results.Servable(b, c.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: train a model with mlc train FILE, or name the folder of the runs", c.Dir)
	}
	if err != nil {
		return err
	}
	all, port, err := results.ListenHere(c.Port)
	if err != nil {
		return err
	}
	address := s.Address(fmt.Sprintf("http://127.0.0.1:%d", port))
	if sh.JSON {
		err = sh.PrintJSON(map[string]string{"address": address})
	} else {
		_, err = fmt.Fprintln(sh.Out, address)
	}
	if err != nil {
		return err
	}
	sh.Say("serving the runs below %s until Ctrl-C", c.Dir)
	if c.Open {
		remove, err := results.OpenBrowser(address)
		if err != nil {
			sh.Say("cannot open a browser: %v", err)
		}
		defer remove()
	}
	return results.ServeAll(sh, s, all)
}
