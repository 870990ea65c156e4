package cli

import (
	"embed"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
)

// helpCmd is the verb help.
type helpCmd struct {
	Words []string `arg:"" optional:"" name:"VERB" help:"The verb, and what follows it."`
}

// Run prints what --help prints behind the same words.
func (c *helpCmd) Run(b *build.Builder) error {
	if code := Run(b.Source, append(slices.Clone(c.Words), "--help"), b.Out, b.Err); code != shell.ExitOK {
		return shell.ExitStatus(code)
	}
	return nil
}

// versionCmd is the verb version.
type versionCmd struct{}

// Run prints what --version prints.
func (versionCmd) Run(sh *shell.Shell) error {
	_, err := fmt.Fprintln(sh.Out, versionLine())
	return err
}

// trainerHelp has the flags of a trainer's verbs, as its own help shows them: a trainer is not
// built before there is a spec. TestHelp of package runtime writes it.
//
//go:embed trainer/*.txt
var trainerHelp embed.FS

// flagsOf are the flags that the trainer's verb takes, for the help of mlc's.
func flagsOf(verb string) string {
	text, err := trainerHelp.ReadFile("trainer/" + verb + ".txt")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return "\n\nFlags of the trainer:\n\n" + string(text)
}
