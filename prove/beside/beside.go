// Package beside lets training steps of compiled models take turns with the same models
// in PyTorch, on one GPU. Packages codegen/live, which makes the models, and bench/peers,
// which has the scripts, come before it; a phase of package prove is after it.
package beside

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/specs"
)

// A Torch is a Python that has PyTorch.
type Torch struct {
	Python  string // its path
	Version string // of PyTorch
	CUDA    bool   // it can use a GPU
}

// ErrNoTorch is in the error of Find when there is none.
var ErrNoTorch = errors.New("no Python with PyTorch that can use the device")

// Pythons are where PyTorch is looked for: what MLC_PYTHON names, and in $PATH.
func Pythons() (all []string) {
	if named := os.Getenv("MLC_PYTHON"); named != "" {
		all = append(all, named)
	}
	return append(all, "python3", "python")
}

// Find returns the first of these Pythons with a PyTorch that can use a device, cpu or
// cuda, or says what each lacks.
func Find(ctx context.Context, pythons []string, on string) (*Torch, error) {
	var lacks []string
	for _, name := range pythons {
		t, err := ask(ctx, name)
		if err == nil && on == "cuda" && !t.CUDA {
			err = fmt.Errorf("%s: PyTorch %s sees no GPU", name, t.Version)
		}
		if err == nil {
			return t, nil
		}
		lacks = append(lacks, err.Error())
	}
	return nil, fmt.Errorf("%w: %s; MLC_PYTHON can name one", ErrNoTorch, strings.Join(lacks, "; "))
}

func ask(ctx context.Context, name string) (*Torch, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not there", name)
	}
	said, err := peers.Ask(ctx, path, "import numpy, torch; print(torch.__version__, torch.cuda.is_available())")
	if err != nil {
		return nil, err
	}
	version, cuda, ok := strings.Cut(said, " ")
	if !ok {
		return nil, fmt.Errorf("%s: PyTorch says %q of itself", name, said)
	}
	version, _, _ = strings.Cut(version, "+")
	return &Torch{path, version, cuda == "True"}, nil
}

// A Contest is one model, and one way of doing it in PyTorch.
type Contest struct {
	Case peers.Case
	Way  peers.Way
}

// Contests are all contests on a device: the cases whose specs are shipped, by each of
// PyTorch's ways, in each precision that products may have there. Ours compute in fp32,
// except in cases in bf16, where both do. Packed rows exist for looped models, in bf16:
// PyTorch's attention of variable length has no other precision.
func Contests(on string, threads int) (all []Contest) {
	precisions := []string{"fp32", "tf32", "bf16"}
	if on == "cpu" {
		precisions = []string{"fp32", "bf16"}
	}
	for _, c := range peers.Cases() {
		if !strings.HasPrefix(c.Spec, shipped) || c.GPU && on == "cpu" {
			continue
		}
		precisions := precisions
		if slices.Contains(c.Set, "train.precision=bf16") {
			precisions = []string{"bf16"}
		}
		for _, peer := range []string{"eager", "compile", "cudagraph", "packed"} {
			for _, p := range precisions {
				if peer == "packed" && (c.Kind != "looped" || p != "bf16") {
					continue
				}
				all = append(all, Contest{c, peers.Way{Peer: peer, Device: on, Precision: p, Threads: threads}})
			}
		}
	}
	return all
}

// shipped is where the specs are that a program has in it.
const shipped = "specs/"

func (c Contest) String() string { return c.Case.Name + " " + c.Way.Peer + " " + c.Way.Precision }

// Options of Run and Fill.
type Options struct {
	Set     []string      // on top of the case's, for both: fewer examples on a slow device
	Rounds  int           // that each has
	Length  time.Duration // of a turn, about; a step at least
	Cache   string        // a folder for what PyTorch has compiled; "": PyTorch's own
	Backend string        // of torch.compile; "": PyTorch's own
	Workers int           // processes that PyTorch starts to compile; 0: as many as it likes
	Say     func(format string, args ...any)

	build func(c peers.Case, set []string) (*check.Spec, *live.Model, error) // nil: build
}

// A Result is what came of a Contest. Times are seconds, medians of the rounds.
type Result struct {
	Torch  string  `json:"torch"`            // version
	Python string  `json:"python"`           // path
	Batch  int     `json:"batch"`            // examples of a step
	Rounds int     `json:"rounds"`           // that both have finished
	Ours   float64 `json:"ours"`             // a step
	Peers  float64 `json:"peers"`            // a step
	Ratio  float64 `json:"ratio"`            // how many times as long the peer's is, by round
	Start  float64 `json:"start"`            // until the peer's first step after warming up was done, compilation included
	Cut    bool    `json:"cut,omitempty"`    // time ended before all rounds
	Failed string  `json:"failed,omitempty"` // why the peer gave up
	Graphs *Graphs `json:"graphs,omitempty"` // what the peer says of itself
}

// Graphs are the graphs that a peer has made of its step.
type Graphs struct {
	Compiled   int      `json:"compiled"`             // by torch.compile
	Recompiled int      `json:"recompiled,omitempty"` // of them, after warming up: while it was timed
	Why        []string `json:"why,omitempty"`        // reasons of recompilations, warming up included
	Captured   int      `json:"captured,omitempty"`   // as CUDA graphs
	Loss       float64  `json:"loss"`                 // of the last step
}

// Run lets a compiled model on a device and its peer take turns. The driver is not
// closed. An error is ours; a peer that fails is part of the result.
func Run(ctx context.Context, c Contest, t *Torch, d cuda.Driver, o Options) (*Result, error) {
	p, err := prepare(c, t, o)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(p.dir)
	both := rounds.Measure(ctx, []rounds.Contestant{
		{Title: "mlc", Start: func(ctx context.Context) (rounds.Runner, error) { return start(ctx, p.model, d) }},
		{Title: c.String(), Start: rounds.Process(p.argv...)},
	}, rounds.Options{Rounds: o.Rounds, Length: o.Length, Say: o.Say})
	return conclude(ctx, both[0], both[1], &Result{Torch: t.Version, Python: t.Python, Batch: p.model.Train.Batch, Graphs: p.graphs()}, o.Rounds)
}

// Fill lets a peer compile all that its steps need, and no more. What it has compiled is
// in the cache.
func Fill(ctx context.Context, c Contest, t *Torch, o Options) (*Result, error) {
	p, err := prepare(c, t, o)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(p.dir)
	cmd := exec.CommandContext(ctx, p.argv[0], append(p.argv[1:], "--fill")...)
	cmd.WaitDelay = time.Second // processes that it started may hold its output open
	begin := time.Now()
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", cmp.Or(context.Cause(ctx), err), rounds.LastLines(string(said), 1))
	}
	r := &Result{Torch: t.Version, Python: t.Python, Batch: p.model.Train.Batch, Start: time.Since(begin).Seconds(), Graphs: p.graphs()}
	if r.Graphs == nil {
		return nil, errors.New("the peer has left no report")
	}
	return r, nil
}

// A prepared contest has its files in a folder.
type prepared struct {
	dir    string
	model  *live.Model
	argv   []string // starts the peer
	report string   // the peer's file about itself
}

func prepare(c Contest, t *Torch, o Options) (*prepared, error) {
	if o.build == nil {
		o.build = build
	}
	spec, m, err := o.build(c.Case, o.Set)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mlc-peers-")
	if err != nil {
		return nil, err
	}
	p := &prepared{dir: dir, model: m, report: filepath.Join(dir, "report.json")}
	problem := filepath.Join(dir, "problem.json")
	if err := errors.Join(peers.Write(dir), writeProblem(problem, c.Case, spec, m, 0)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	more := []string{"--report", p.report}
	if o.Backend != "" {
		more = append(more, "--backend", o.Backend)
	}
	p.argv = append(o.environment(), c.Way.Command(t.Python, dir, problem, more...)...)
	return p, nil
}

// graphs reads the peer's report; nil if it has left none.
func (p *prepared) graphs() *Graphs {
	text, err := os.ReadFile(p.report)
	if err != nil {
		return nil
	}
	g := new(Graphs)
	if json.Unmarshal(text, g) != nil {
		return nil
	}
	return g
}

// environment begins a command that compiles as the options say.
func (o *Options) environment() (argv []string) {
	if o.Cache != "" {
		argv = append(argv, Caching(o.Cache)...)
	}
	if o.Workers > 0 {
		argv = append(argv, fmt.Sprint("TORCHINDUCTOR_COMPILE_THREADS=", o.Workers))
	}
	if argv != nil {
		argv = append([]string{"env"}, argv...)
	}
	return argv
}

// Caching is the environment of a PyTorch that leaves in a folder what it compiles.
func Caching(dir string) []string {
	return []string{"TORCHINDUCTOR_CACHE_DIR=" + filepath.Join(dir, "inductor"), "TRITON_CACHE_DIR=" + filepath.Join(dir, "triton")}
}

// conclude compares the rounds that both have finished.
func conclude(ctx context.Context, ours, theirs rounds.Result, r *Result, want int) (*Result, error) {
	ended := ctx.Err() != nil
	r.Rounds = min(len(ours.Seconds), len(theirs.Seconds))
	r.Start, r.Cut = theirs.Start.Seconds(), ended && r.Rounds < want
	switch {
	case ours.Err != nil && !ended:
		return nil, ours.Err
	case theirs.Err != nil && !ended:
		r.Failed = theirs.Err.Error()
	}
	if r.Rounds == 0 {
		return r, context.Cause(ctx)
	}
	ours.Seconds, theirs.Seconds = ours.Seconds[:r.Rounds], theirs.Seconds[:r.Rounds]
	theirs.Base, theirs.Err = ours.Seconds, nil
	r.Ours, r.Peers = rounds.Median(ours.Seconds), rounds.Median(theirs.Seconds)
	r.Ratio, _ = theirs.Ratio()
	return r, nil
}

// compile takes a case through the compiler.
func compile(c peers.Case, set []string) (*compiler.Program, error) {
	p, found, err := compiler.Compile(check.Options{
		Path: strings.TrimPrefix(c.Spec, shipped),
		Read: specs.Files.ReadFile,
		Set:  append(c.Set[:len(c.Set):len(c.Set)], set...),
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("BUG: %s: %w", c.Name, err)
	case found.HasErrors():
		return nil, fmt.Errorf("BUG: %s does not compile: %v", c.Name, found)
	}
	return p, nil
}

// Model is a case's model, with settings on top of the case's.
func Model(c peers.Case, set []string) (*live.Model, error) {
	_, m, err := build(c, set)
	return m, err
}

func build(c peers.Case, set []string) (*check.Spec, *live.Model, error) {
	p, err := compile(c, set)
	if err != nil {
		return nil, nil, err
	}
	m, err := live.New(p)
	return p.Spec, m, err
}

// batches is how many a peer is given to train on in turn.
const batches = 4

// writeProblem writes what a peer is told, with the batches after so many steps.
func writeProblem(path string, c peers.Case, spec *check.Spec, m *live.Model, after int) error {
	shapes := map[string][]int{}
	for _, p := range m.Params {
		shapes[p.Name] = append([]int{}, p.Shape...) // a scalar's is empty, not missing
	}
	p := peers.NewProblem(c.Kind, spec, shapes)
	var err error
	if p.Batches, err = peers.Batches(spec, after, batches); err != nil {
		return err
	}
	return p.Write(path)
}

// A trainee is our side at work.
type trainee struct {
	ctx context.Context
	*train.Trainer
}

// warmUp is enough for everything to have its memory and to be a graph.
const warmUp = 3

func start(ctx context.Context, m *live.Model, d cuda.Driver) (rounds.Runner, error) {
	machine, err := m.Machine(d)
	if err != nil {
		return nil, err
	}
	t, err := m.Trainer(machine)
	if err != nil {
		return nil, err
	}
	w := &trainee{ctx, t}
	_, err = w.Run(warmUp)
	return w, err
}

// Run asks for steps as the trainer does, none waiting for the one before, and waits until
// everything is done, as the peers do.
func (t *trainee) Run(steps int) (float64, error) {
	begin := time.Now()
	for range steps {
		if t.ctx.Err() != nil {
			return 0, context.Cause(t.ctx)
		}
		const little = 100 // what is learned does not matter, only that numbers stay finite
		if err := t.Enqueue(t.Config.LR / little); err != nil {
			return 0, err
		}
	}
	_, err := t.Wait()
	return time.Since(begin).Seconds(), err
}

func (t *trainee) Peak() int64 { return 0 }
func (t *trainee) Stop() error { return nil }
