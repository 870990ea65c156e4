package prove

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/codegen/live"
)

// An ending is the outcome of one rank.
type ending struct {
	got  *Ranks
	err  error
	said string // output of rank 1's process, if it failed
}

// lead trains as rank 0, and starts a process that trains as rank 1.
func (e *Env) lead(ctx context.Context, m *live.Model, p *Part) (*Ranks, error) {
	meet, err := meeting()
	if err != nil {
		return nil, skipf("ranks have no address to meet at: %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, second := make(chan ending, 1), make(chan ending, 1)
	go func() { second <- e.second(ctx, p.Name, meet) }()
	go func() {
		got, err := e.together(ctx, m, 0, meet)
		first <- ending{got: got, err: err}
	}()
	all := both(ctx, first, second)
	if all[1] == nil {
		cancel()
		select {
		case <-second:
		case <-time.After(parting):
		}
	} else if all[1].said != "" {
		p.Stderr = all[1].said
	}
	if err := verdict(ctx, all); err != nil {
		return nil, err
	}
	got := all[0].got
	got.Other = all[1].got.Hash
	return got, nil
}

// meeting returns a free local address.
func meeting() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// parting is how long a rank may take to end after the other has failed.
const parting = 500 * time.Millisecond

// both waits for two ranks. A rank that does not end is abandoned, and its ending is nil.
func both(ctx context.Context, first, second <-chan ending) (all [numRanks]*ending) {
	var soon <-chan time.Time
	for all[0] == nil || all[1] == nil {
		var x ending
		select {
		case x = <-first:
			all[0] = &x
		case x = <-second:
			all[1] = &x
		case <-soon:
			return all
		case <-ctx.Done():
			return all
		}
		if x.err != nil {
			soon = time.After(parting)
		}
	}
	return all
}

// verdict returns the worst outcome of the ranks.
func verdict(ctx context.Context, all [numRanks]*ending) error {
	var failed []string
	var skipped, late error
	for rank, x := range all {
		switch {
		case x == nil:
			late = ctx.Err()
		case x.err == nil:
		case errors.Is(x.err, errSkip):
			skipped = x.err
		case errors.Is(x.err, context.DeadlineExceeded):
			late = x.err
		default:
			failed = append(failed, fmt.Sprintf("rank %d: %s", rank, oneLine(x.err)))
		}
	}
	switch {
	case failed != nil:
		return errors.New(strings.Join(failed, "; "))
	case skipped != nil:
		return skipped
	}
	return late
}

// second runs rank 1: a process that runs the same part.
func (e *Env) second(ctx context.Context, name, meet string) ending {
	dir, err := os.MkdirTemp("", "mlc-prove-rank-")
	if err != nil {
		return ending{err: err}
	}
	defer os.RemoveAll(dir)
	j := job{Options: Options{Command: e.command}}
	req := request{Phase: ranksPhase, Part: name, Device: e.Device, Seed: e.Seed, Reduced: e.reduced, Meet: meet,
		End: time.Now().Add(left(ctx)), Answer: filepath.Join(dir, "part.json")}
	said, err := j.ask(ctx, req, nil)
	found, bad := answer(req.Answer)
	switch {
	case ctx.Err() != nil:
		return ending{err: ctx.Err()}
	case err != nil:
		return ending{err: fmt.Errorf("its process did not end well: %s", exitText(err)), said: said}
	case bad != nil:
		return ending{err: fmt.Errorf("its process left no result: %w", bad), said: said}
	}
	return found.ending()
}

// ending converts the part of rank 1.
func (p *Part) ending() ending {
	switch p.Verdict {
	case Pass:
		return ending{got: &Ranks{Steps: *p.Steps}}
	case Skipped:
		return ending{err: skipf("%s", p.Reason)}
	case Cut:
		return ending{err: context.DeadlineExceeded}
	}
	return ending{err: errors.New(p.Reason)}
}

// oneLine formats an error as one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
