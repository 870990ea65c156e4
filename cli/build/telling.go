package build

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/arithlang/mlc/cli/paths"
)

// A Telling is how much is said of the making of a trainer.
type Telling uint8

const (
	Silent     Telling = iota
	Brief              // that it is built, and what that took
	Everything         // what was written, too
)

// Tells is a Telling, unless something is to be quiet.
func Tells(how Telling, quiet bool) Telling {
	if quiet {
		return Silent
	}
	return how
}

// patience is how long the go command may look whether there is anything to build.
const patience = 3 * time.Second

// announce says that a trainer is being built, which takes seconds, and minutes the first time:
// at once where that is certain, and else when the go command takes its time. The function that
// it returns ends the waiting, and reports whether it was said.
func (b *Builder) announce(p *Product, certain bool, how Telling) (over func() bool) {
	if how == Silent {
		return func() bool { return false }
	}
	first := ""
	if !paths.Exists(filepath.Dir(p.Binary)) {
		first = " (the first one takes longest: what all have in common is compiled, too)"
	}
	said, ended, wait := certain, make(chan struct{}), sync.WaitGroup{}
	say := func() { b.Say("building the trainer of %s%s …", p.of.Command(), first) }
	if certain {
		say()
	} else {
		wait.Go(func() {
			select {
			case <-ended:
			case <-time.After(patience):
				said = true
				say()
			}
		})
	}
	return func() bool {
		close(ended)
		wait.Wait()
		return said
	}
}
