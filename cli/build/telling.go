package build

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/arithlang/mlc/cli/paths"
)

// A Telling is how much a build prints.
type Telling uint8

const (
	Silent     Telling = iota
	Brief              // the build and its time
	Everything         // also the written files
)

// Tells returns how, or Silent if quiet is set.
func Tells(how Telling, quiet bool) Telling {
	if quiet {
		return Silent
	}
	return how
}

// patience is how long the go command may check before its build is announced.
const patience = 3 * time.Second

// announce prints that a trainer is being built, which takes seconds, or minutes the first
// time. It prints at once if the build is certain, and otherwise if the go command is slow.
// over ends the wait and reports whether announce has printed.
func (b *Builder) announce(p *Product, certain bool, how Telling) (over func() bool) {
	if how == Silent {
		return func() bool { return false }
	}
	first := ""
	if !paths.Exists(filepath.Dir(p.Binary)) {
		first = " (the first one takes longest: it also compiles the shared packages)"
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
