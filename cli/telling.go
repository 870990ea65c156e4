package cli

import (
	"path/filepath"
	"sync"
	"time"
)

// A telling is how much is said of the making of a trainer.
type telling uint8

const (
	silent     telling = iota
	brief              // that it is built, and what that took
	everything         // what was written, too
)

// tells is a telling, unless something is to be quiet.
func tells(how telling, quiet bool) telling {
	if quiet {
		return silent
	}
	return how
}

// patience is how long the go command may look whether there is anything to build.
const patience = 3 * time.Second

// announce says that a trainer is being built, which takes seconds, and minutes the first time:
// at once where that is certain, and else when the go command takes its time. The function that
// it returns ends the waiting, and reports whether it was said.
func (a *app) announce(p *product, certain bool, how telling) (over func() bool) {
	if how == silent {
		return func() bool { return false }
	}
	first := ""
	if !exists(filepath.Dir(p.binary)) {
		first = " (the first one takes longest: what all have in common is compiled, too)"
	}
	said, ended, wait := certain, make(chan struct{}), sync.WaitGroup{}
	say := func() { a.say("building the trainer of %s%s …", p.of.command(), first) }
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
