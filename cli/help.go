package cli

import (
	"embed"
	"fmt"
	"slices"
)

// helpCmd is the verb help.
type helpCmd struct {
	Words []string `arg:"" optional:"" name:"VERB" help:"The verb, and what follows it."`
}

// Run prints what --help prints behind the same words.
func (c *helpCmd) Run(a *app) error {
	if code := Run(a.source, append(slices.Clone(c.Words), "--help"), a.out, a.err); code != exitOK {
		return exitStatus(code)
	}
	return nil
}

// versionCmd is the verb version.
type versionCmd struct{}

// Run prints what --version prints.
func (versionCmd) Run(a *app) error {
	_, err := fmt.Fprintln(a.out, versionLine())
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
