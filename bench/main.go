// Command bench compares the time of training steps of compiled trainers with the same models in
// PyTorch and JAX, and writes docs/performance.md:
//
//	go run ./bench                  everything; nothing else should be running
//	go run ./bench --check          only check that the peers are the same models
//	go run ./bench --only abs --peers eager --rounds 3
//	go run ./bench --quick          a short trial that everything works
//	go run ./bench --only specs/bias/addition_abs.arith --ranks 2   ranks next to threads
//
// Every contestant is a warmed-up process that reads a number of steps and answers with their
// seconds. Each peer alternates with the trainer, so that other load on the machine affects both.
// The peers are in bench/peers. The command builds mlc and the trainers as a user does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
)

// options is the command line.
type options struct {
	Only    []string `help:"Cases to run (default: all): ${cases}; with --ranks also a file with a spec." placeholder:"CASE"`
	Peers   []string `help:"Peers, if installed." default:"eager,compile,export,jax" enum:"eager,compile,export,jax"`
	Rounds  int      `help:"Rounds of each case." default:"7"`
	Quick   bool     `help:"One round of one step, and no page."`
	Check   bool     `help:"Compare one step of each model with its peers, and time nothing."`
	Threads int      `help:"Threads of every contestant." default:"${threads}"`
	Ranks   int      `help:"Compare one process of N threads with N ranks of one thread, for each installed MPI, instead of the peers." placeholder:"N"`
	Python  string   `help:"Python with the packages of bench/peers/requirements.txt." default:"python3"`
	Out     string   `help:"File for the page, - for standard output. Default: docs/performance.md after a complete run, else -." short:"o" placeholder:"FILE"`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("bench"), kong.Vars{"cases": caseNames(), "threads": fmt.Sprint(runtime.NumCPU())})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// roundLength is the approximate time of a contestant's round.
const roundLength = 3 * time.Second

// run runs the command.
func (o *options) run(ctx context.Context) error {
	chosen, err := o.cases()
	if err != nil {
		return err
	}
	if o.Rounds < 1 || o.Threads < 1 {
		return errors.New("--rounds and --threads start at 1")
	}
	if o.Quick && o.Check {
		return errors.New("--quick skips the comparison that --check asks for: use one of them")
	}
	b, err := newBuilder(ctx)
	if err != nil {
		return err
	}
	defer b.close()
	turns := rounds.Options{Rounds: o.Rounds, Length: roundLength, Say: logf}
	if o.Quick {
		turns.Rounds, turns.Length = 1, 0
	}
	if o.Ranks > 0 {
		return o.compareRanks(ctx, b, chosen, turns)
	}
	p := page{Date: time.Now(), Threads: o.Threads, Rounds: turns.Rounds, Quick: o.Quick, Cases: o.Only, Peers: o.installed(ctx)}
	for _, c := range chosen {
		s, err := o.section(ctx, b, c, p.Peers, turns)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		p.Sections = append(p.Sections, s)
	}
	if o.Check {
		return p.disagreement()
	}
	launches, err := os.ReadFile(b.root + "/specs/launches.md")
	if err != nil {
		return err
	}
	p.Launches = string(launches)
	arm, err := os.ReadFile(b.root + "/docs/arm64.md")
	if err != nil {
		return err
	}
	_, p.ARM64, _ = strings.Cut(string(arm), "-->\n\n")
	return o.write(b.root, p.String())
}

// cases returns the cases that the command line asks for.
func (o *options) cases() ([]peers.Case, error) {
	if len(o.Only) == 0 {
		return cases, nil
	}
	var chosen []peers.Case
	for _, name := range o.Only {
		if o.Ranks > 0 && strings.HasSuffix(name, ".arith") {
			chosen = append(chosen, peers.Case{Name: strings.TrimSuffix(filepath.Base(name), ".arith"), Title: name, Spec: name})
			continue
		}
		i := slices.IndexFunc(cases, func(c peers.Case) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no case is called %s: want one of %s", name, caseNames())
		}
		chosen = append(chosen, cases[i])
	}
	return chosen, nil
}

// whole reports whether the run is complete enough for the documentation.
func (o *options) whole() bool {
	return len(o.Only) == 0 && !o.Quick && len(o.Peers) == len(libraries)
}

// section measures a case.
func (o *options) section(ctx context.Context, b *builder, c peers.Case, installed []peer, turns rounds.Options) (section, error) {
	s := section{Case: c}
	if !o.Quick {
		var err error
		if s.Agreements, err = o.agreements(ctx, b, c, installed); err != nil || o.Check {
			return s, err
		}
	}
	t, err := b.build(ctx, c, nil)
	if err != nil {
		return s, err
	}
	s.Info = t.info
	problem, err := b.problem(t, 0, batches)
	if err != nil {
		return s, err
	}
	var others []rounds.Contestant
	for _, p := range installed {
		if p.has(c) && (p.Name != exported || t.spec.Model.Dropout == 0) {
			others = append(others, p.contestant(o.Python, b.root, problem, o.Threads))
		}
	}
	logf("%s: %s", c.Name, c.Title)
	if s.Results = rounds.Duels(ctx, t.contestant(o.Threads), others, turns); ctx.Err() != nil {
		return s, ctx.Err()
	}
	if c.Kernels && !o.Quick {
		s.Kernels = t.kernels(ctx, o.Threads)
	}
	return s, nil
}

// write writes the page to its file or to standard output.
func (o *options) write(root, text string) error {
	path := o.Out
	if path == "" && o.whole() {
		path = root + "/docs/performance.md"
	}
	if path == "" || path == "-" {
		_, err := fmt.Print(text)
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// logf reports progress to the user.
func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
