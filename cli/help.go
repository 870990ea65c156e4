package cli

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
)

// helpCmd is the verb help.
type helpCmd struct {
	Words []string `arg:"" optional:"" name:"VERB" help:"The verb, and what follows it."`
}

// Run prints the help of the verb.
func (c *helpCmd) Run(b *build.Builder) error {
	words := slices.DeleteFunc(slices.Clone(c.Words), func(w string) bool { return w == "--help" || w == "-h" }) // each would print it
	if code := Run(b.Source, append(words, "--help"), b.Out, b.Err); code != shell.ExitOK {
		return shell.ExitStatus(code)
	}
	return nil
}

// versionCmd is the verb version.
type versionCmd struct{}

// Run prints what --version prints, or where the command comes from, as JSON.
func (versionCmd) Run(sh *shell.Shell) error {
	if sh.JSON {
		return sh.PrintJSON(thisBuild())
	}
	_, err := fmt.Fprintln(sh.Out, versionLine())
	return err
}
