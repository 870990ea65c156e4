// Command torture kills mlc and its trainers, lets their system calls fail, damages their files
// and feeds them random inputs. It compares the results with those of undisturbed work, and
// writes docs/reliability.md.
//
//	go run ./torture --kills 1000 --failures 1000 --damages 10000 --fuzz 1m --inputs 10000000
//	go run ./torture --seed 7 --case damage/4711    repeat one case
//
// It builds mlc and the trainers as a user does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// options is the command line.
type options struct {
	Kills    int           `help:"Number of kills." placeholder:"N"`
	Failures int           `help:"Number of failing system calls, if strace is installed." placeholder:"N"`
	Damages  int           `help:"Number of damaged files." placeholder:"N"`
	Crowds   int           `help:"Number of crowds: processes that do the same work at once." placeholder:"N"`
	Fuzz     time.Duration `help:"Time for each fuzz test of the module; they run one after another." placeholder:"1m"`
	Inputs   int           `help:"Continue the fastest fuzz tests up to this many inputs." placeholder:"N"`
	Seed     uint64        `help:"Seed of all random numbers except fuzz inputs." default:"1"`
	Case     string        `help:"Repeat one case, as in damage/4711." placeholder:"KIND/N"`
	Jobs     int           `help:"Cases run at once." default:"2"`
	Limit    time.Duration `help:"Time after which a process counts as hanging." default:"1m"`
	Write    bool          `help:"Write docs/reliability.md."`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("torture"))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// run makes faults and random inputs at the same time, until there are enough or ctx ends.
func (o *options) run(ctx context.Context) error {
	if o.Case != "" {
		return o.again()
	}
	t := &tally{counts: map[row]*count{}}
	errs := make(chan error, 2)
	go func() { errs <- o.trials(ctx, t) }()
	go func() { errs <- o.inputs(ctx, t) }()
	if err := errors.Join(<-errs, <-errs); err != nil {
		return err
	}
	if o.Write {
		if err := o.write(t); err != nil {
			return err
		}
	}
	if n := t.found(); n > 0 {
		return fmt.Errorf("%d cases found a violation", n)
	}
	return nil
}

// open makes a campaign; done removes its files.
func (o *options) open() (c *campaign, done func(), err error) {
	repo, err := filepath.Abs(".")
	if err != nil {
		return nil, nil, err
	}
	s, err := open(repo, o.Limit)
	if err != nil {
		return nil, nil, err
	}
	if c, err = newCampaign(s, o.Seed); err != nil {
		s.close()
		return nil, nil, err
	}
	return c, s.close, nil
}

// trials runs the cases of all kinds.
func (o *options) trials(ctx context.Context, t *tally) error {
	if o.Kills+o.Failures+o.Damages+o.Crowds == 0 {
		return nil
	}
	c, done, err := o.open()
	if err != nil {
		return err
	}
	defer done()
	for _, part := range []struct {
		kind string
		n    int
	}{{"kill", o.Kills}, {"fail", o.Failures}, {"damage", o.Damages}, {"crowd", o.Crowds}} {
		if part.kind == "fail" && part.n > 0 && !canTrace() {
			fmt.Println("fail: skipped, strace is missing or may not trace")
			continue
		}
		made := c.many(ctx, part.kind, part.n, o.Jobs, func(trial *trial) {
			if trial.err != nil {
				fmt.Printf("%s\n\n", trial)
			}
			t.add(part.kind, trial.about, trial.faults, trial.err)
		})
		fmt.Printf("%s: %d\n", part.kind, made)
	}
	return nil
}

// again repeats one case and prints its steps.
func (o *options) again() error {
	c, done, err := o.open()
	if err != nil {
		return err
	}
	defer done()
	return c.again(o.Case)
}

func (c *campaign) again(name string) error {
	kind, number, _ := strings.Cut(name, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("--case %s: want a kind and a number, as in damage/4711", name)
	}
	t := c.one(kind, n)
	fmt.Println(t)
	return t.err
}

// inputs runs all fuzz tests one after another, then repeats the fastest ones until there are
// enough inputs.
func (o *options) inputs(ctx context.Context, t *tally) error {
	if o.Fuzz == 0 {
		return nil
	}
	all, err := targets(".")
	if err != nil {
		return err
	}
	for len(all) > 0 {
		rates := map[target]int{}
		fastest := 0
		for _, target := range all {
			if ctx.Err() != nil {
				return nil
			}
			n, err := target.fuzz(o.Fuzz, o.Jobs)
			if err != nil {
				fmt.Printf("%s: %v\n\n", target, err)
			}
			t.add("input", target.String(), n, err)
			rates[target], fastest = n, max(fastest, n)
		}
		fmt.Printf("input: %d\n", t.total("input").Made)
		if t.total("input").Made >= o.Inputs {
			return nil
		}
		all = slices.DeleteFunc(all, func(target target) bool { return rates[target] < fastest/2 })
	}
	return nil
}
