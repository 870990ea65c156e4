// Package beside alternates training steps of compiled models with steps of the same models in
// PyTorch, on one GPU. Package codegen/live makes the models, and bench/peers has the scripts. A
// phase of package prove uses it.
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

// A Torch is a Python with PyTorch.
type Torch struct {
	Python  string // its path
	Version string // of PyTorch
	CUDA    bool   // it can use a GPU
}

// ErrNoTorch is in the error of Find if there is no such Python.
var ErrNoTorch = errors.New("no Python with PyTorch that can use the device")

// Pythons returns the Pythons to try: MLC_PYTHON, then python3 and python from PATH.
func Pythons() (all []string) {
	if named := os.Getenv("MLC_PYTHON"); named != "" {
		all = append(all, named)
	}
	return append(all, "python3", "python")
}

// Find returns the first of these Pythons whose PyTorch can use a device, cpu or cuda. Its error
// lists why each of them cannot.
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
		return nil, fmt.Errorf("%s is not installed", name)
	}
	said, err := peers.Ask(ctx, path, "import numpy, torch; print(torch.__version__, torch.cuda.is_available())")
	if err != nil {
		return nil, err
	}
	version, cuda, ok := strings.Cut(said, " ")
	if !ok {
		return nil, fmt.Errorf("%s: PyTorch reports the version %q", name, said)
	}
	version, _, _ = strings.Cut(version, "+")
	return &Torch{path, version, cuda == "True"}, nil
}

// A Contest is one model, and one way to train it in PyTorch.
type Contest struct {
	Case peers.Case
	Way  peers.Way
}

// Contests returns all contests on a device: the cases with embedded specs, each in all of
// PyTorch's ways and in all precisions of products that the device has. mlc computes in fp32,
// except in cases in bf16, where both sides do. Packed rows exist only for looped models in bf16,
// because PyTorch's attention of variable length has no other precision.
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

// shipped is the prefix of embedded specs.
const shipped = "specs/"

func (c Contest) String() string { return c.Case.Name + " " + c.Way.Peer + " " + c.Way.Precision }

// Options of Run and Fill.
type Options struct {
	Set     []string      // settings on top of the case's, for both sides: fewer examples on a slow device
	Rounds  int           // number of turns of each side
	Length  time.Duration // approximate length of a turn; at least a step
	Cache   string        // folder for PyTorch's compiled code; "": PyTorch's own
	Backend string        // back end of torch.compile; "": PyTorch's own
	Workers int           // processes that PyTorch starts to compile; 0: PyTorch's choice
	Say     func(format string, args ...any)

	build func(c peers.Case, set []string) (*check.Spec, *live.Model, error) // nil: build
}

// A Result is the result of a Contest. Times are seconds, medians over rounds.
type Result struct {
	Torch  string  `json:"torch"`            // version
	Python string  `json:"python"`           // path
	Batch  int     `json:"batch"`            // examples a step
	Rounds int     `json:"rounds"`           // rounds that both have finished
	Ours   float64 `json:"ours"`             // time of a step
	Peers  float64 `json:"peers"`            // time of a step
	Ratio  float64 `json:"ratio"`            // the peer's time divided by ours, by round
	Start  float64 `json:"start"`            // until the end of the peer's first step after warming up, compilation included
	Cut    bool    `json:"cut,omitempty"`    // time ended before all rounds
	Failed string  `json:"failed,omitempty"` // why the peer gave up
	Graphs *Graphs `json:"graphs,omitempty"` // the peer's report
}

// Graphs describes the graphs that a peer made of its step.
type Graphs struct {
	Compiled   int      `json:"compiled"`             // by torch.compile
	Recompiled int      `json:"recompiled,omitempty"` // graphs recompiled after warming up, while the step was timed
	Why        []string `json:"why,omitempty"`        // reasons of recompilations, warming up included
	Captured   int      `json:"captured,omitempty"`   // as CUDA graphs
	Loss       float64  `json:"loss"`                 // loss of the last step
}

// Run alternates a compiled model on a device and its peer. It does not close the driver. Its
// errors are ours; if a peer fails, the result says so.
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

// Fill lets a peer compile everything that its steps need, into the cache.
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
		return nil, errors.New("the peer wrote no report")
	}
	return r, nil
}

// A prepared contest, with its files in a folder.
type prepared struct {
	dir    string
	model  *live.Model
	argv   []string // starts the peer
	report string   // file of the peer's report
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

// graphs reads the peer's report. It returns nil if the report is missing or broken.
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

// environment begins a command with the environment that the options ask for.
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

// Caching returns an environment that makes PyTorch keep its compiled code in a folder.
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

// compile compiles a case.
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

// Model compiles a case, with settings on top of the case's.
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

// batches is the number of batches that a peer trains on, one after another.
const batches = 4

// writeProblem writes the peer's input, with the batches after so many steps.
func writeProblem(path string, c peers.Case, spec *check.Spec, m *live.Model, after int) error {
	shapes := map[string][]int{}
	for _, p := range m.Params {
		shapes[p.Name] = append([]int{}, p.Shape...) // empty for a scalar, not missing
	}
	p := peers.NewProblem(c.Kind, spec, shapes)
	var err error
	if p.Batches, err = peers.Batches(spec, after, batches); err != nil {
		return err
	}
	return p.Write(path)
}

// A trainee is our side of a contest.
type trainee struct {
	ctx context.Context
	*train.Trainer
}

// warmUp steps are enough to allocate all memory and record all graphs.
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

// Run enqueues steps as the trainer does, without waiting for each, and waits until all are done,
// as the peers do.
func (t *trainee) Run(steps int) (float64, error) {
	begin := time.Now()
	for range steps {
		if t.ctx.Err() != nil {
			return 0, context.Cause(t.ctx)
		}
		const little = 100 // learning does not matter, but numbers must stay finite
		if err := t.Enqueue(t.Config.LR / little); err != nil {
			return 0, err
		}
	}
	_, err := t.Wait()
	return time.Since(begin).Seconds(), err
}

func (t *trainee) Peak() int64 { return 0 }
func (t *trainee) Stop() error { return nil }
