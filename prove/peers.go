package prove

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/prove/beside"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// Torch is the PyTorch that was found.
type Torch struct {
	Python  string `json:"python"` // its path
	Version string `json:"version"`
}

// torch is the part that looks for PyTorch, and the file with its findings.
const torch = "torch"

// telling are the most telling ways: PyTorch's fastest, and one with as many operations as ours.
var telling = []string{"compile tf32", "compile bf16", "eager fp32"}

// contestOrder lists the cases: first the largest in the precision that suits a GPU, then the
// others, quickest first.
var contestOrder = []string{"looped8x2-bf16", "successor", "abs-bf16", "abs", "looped8x2", "looped", "abs-no-dropout"}

// contests returns all contests, the most telling ways first, and within these case after case.
func contests() []beside.Contest {
	all := beside.Contests("cuda", runtime.NumCPU())
	rank := func(c beside.Contest) (later, of, way int) {
		way = slices.Index(telling, c.Way.Peer+" "+c.Way.Precision)
		if way < 0 {
			later = 1
		}
		return later, slices.Index(contestOrder, c.Case.Name), way
	}
	slices.SortStableFunc(all, func(a, b beside.Contest) int {
		laterA, caseA, wayA := rank(a)
		laterB, caseB, wayB := rank(b)
		return cmp.Or(cmp.Compare(laterA, laterB), cmp.Compare(caseA, caseB), cmp.Compare(wayA, wayB))
	})
	return all
}

// contestNeeds returns the time to import PyTorch and load our kernels, to alternate, and to
// compile the model.
func contestNeeds(part string) time.Duration {
	switch {
	case part == torch:
		return 8 * time.Second
	case !strings.Contains(part, " eager "):
		return 45 * time.Second
	}
	return 15 * time.Second
}

func peerParts(e *Env) ([]string, string) {
	if e.Device != "cuda" {
		return nil, "there is no GPU that PyTorch could also use"
	}
	return append([]string{torch}, names(contests())...), ""
}

// Parameters of a contest.
const (
	turns      = 5 // of each side
	turnLength = 500 * time.Millisecond
)

// runPeers looks for PyTorch, or lets one of its ways alternate with mlc.
func runPeers(ctx context.Context, e *Env, p *Part) error {
	if p.Name == torch {
		_, err := e.findTorch(ctx, p)
		return err
	}
	contest, err := find(contests(), p.Name)
	if err != nil {
		return err
	}
	if err := e.compete(ctx, p, contest); err != nil {
		return err
	}
	if p.Peer.Failed != "" {
		return skipf("PyTorch gave up: %s", p.Peer.Failed)
	}
	return nil
}

// compete lets steps of mlc and PyTorch alternate. It keeps no times of a device without speed.
func (e *Env) compete(ctx context.Context, p *Part, c beside.Contest) error {
	t, err := e.torch(ctx)
	if err != nil {
		return err
	}
	d, err := e.Open()
	if err != nil {
		return err
	}
	o := e.contest(&c)
	p.Peer, err = beside.Run(ctx, c, t, d, o)
	if err == nil && e.Device != "cuda" {
		p.Peer.Ours, p.Peer.Peers, p.Peer.Ratio, p.Peer.Start = 0, 0, 0, 0
	}
	return errors.Join(err, d.Close())
}

// fill lets PyTorch compile a contest's model.
func (e *Env) fill(ctx context.Context, p *Part, c beside.Contest) error {
	t, err := e.torch(ctx)
	if err != nil {
		return err
	}
	o := e.contest(&c)
	o.Workers = max(1, runtime.GOMAXPROCS(0)/2) // other parts compile at the same time
	p.Peer, err = beside.Fill(ctx, c, t, o)
	return err
}

// contest returns the options of a contest on the device. Without a GPU, PyTorch runs on the
// processor, models are small, and Dynamo's graphs are not compiled, because there may be no
// compiler.
func (e *Env) contest(c *beside.Contest) beside.Options {
	o := beside.Options{Rounds: turns, Length: turnLength, Cache: e.cacheDir()}
	c.Way.Device = e.torchDevice()
	if e.Reduced() {
		o.Rounds, o.Length, o.Set, o.Backend = 1, 0, e.fewer(c.Case), "eager"
		c.Way.Threads = 1 // threads of several parts would wait for each other
	}
	return o
}

// fewerLoops and fewerLayers are settings that make a looped model and an encoder-decoder small.
var (
	fewerLoops = []string{"train.batch=4", "train.chunk=4", "train.microbatch=2", "model.width=32", "model.heads=2",
		"model.ffn=geglu(hidden = 32)", "model.head=geglu(hidden = 32)"}
	fewerLayers = []string{"train.batch=4", "train.microbatch=2", "model.width=16", "model.heads=2", "model.ffn.hidden=16", "model.decoder.layers=1"}
)

// fewer returns settings for a case on a slow device.
func (e *Env) fewer(c peers.Case) []string {
	switch {
	case !e.Reduced():
		return nil
	case c.Kind == "looped":
		return fewerLoops
	}
	return fewerLayers
}

// torchDevice is the device for PyTorch.
func (e *Env) torchDevice() string {
	if e.Device == "cuda" {
		return "cuda"
	}
	return "cpu"
}

// findTorch looks for PyTorch and saves the result for later parts, since importing it takes
// seconds.
func (e *Env) findTorch(ctx context.Context, p *Part) (*beside.Torch, error) {
	t, err := beside.Find(ctx, beside.Pythons(), e.torchDevice())
	switch {
	case ctx.Err() != nil:
		p.Reason = outOfTime + ": still looking for PyTorch"
		return nil, context.Cause(ctx)
	case errors.Is(err, beside.ErrNoTorch):
		return nil, skipf("%v", err)
	case err != nil:
		return nil, err
	}
	p.Torch = &Torch{t.Python, t.Version}
	text, err := json.Marshal(p.Torch)
	if err != nil {
		return nil, err
	}
	return t, ckpt.WriteFile(filepath.Join(e.dir, torch), text)
}

// torch returns the PyTorch that an earlier part found, or looks for it.
func (e *Env) torch(ctx context.Context) (*beside.Torch, error) {
	text, err := os.ReadFile(filepath.Join(e.dir, torch))
	if err != nil {
		return e.findTorch(ctx, new(Part))
	}
	t := new(Torch)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, err
	}
	return &beside.Torch{Python: t.Python, Version: t.Version}, nil
}

// peerText formats the result of a contest.
func peerText(r *beside.Result) string {
	text := fmt.Sprintf("%d examples, PyTorch %s", r.Batch, r.Torch)
	if r.Ratio > 0 {
		text = fmt.Sprintf("%d examples in %.3f ms, PyTorch %s in %.3f ms, %.2f times as long", r.Batch, 1e3*r.Ours, r.Torch, 1e3*r.Peers, r.Ratio)
	}
	g := r.Graphs
	if g == nil {
		return text
	}
	if g.Compiled > 0 {
		text += fmt.Sprintf("; %d graphs compiled, %d of them while timed", g.Compiled, g.Recompiled)
	}
	if g.Captured > 0 {
		text += fmt.Sprintf("; %d captured", g.Captured)
	}
	return text
}
