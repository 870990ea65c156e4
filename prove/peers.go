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

	"github.com/arithlang/mlc/prove/beside"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// Torch is the PyTorch that there is.
type Torch struct {
	Python  string `json:"python"` // its path
	Version string `json:"version"`
}

// torch is the part that looks for PyTorch, and the file of what it has found.
const torch = "torch"

// telling are the ways whose times tell most: the best that PyTorch does, and what does as
// many operations as ours.
var telling = []string{"compile tf32", "compile bf16", "eager fp32"}

// contestOrder are the cases: the largest in the precision that a GPU is for, and the others, the
// quickest first.
var contestOrder = []string{"looped8x2-bf16", "successor", "abs", "looped8x2", "looped", "abs-no-dropout"}

// contests are all, in the order in which they tell something: first what tells most, of
// one case after the other.
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

// peerNeeds are what it takes to import PyTorch, and to load our kernels and take turns,
// and to compile the model.
func peerNeeds(part string) time.Duration {
	switch {
	case part == torch:
		return 8 * time.Second
	case strings.Contains(part, " compile "):
		return 45 * time.Second
	}
	return 15 * time.Second
}

func peerParts(e *Env) ([]string, string) {
	if e.Device != "cuda" {
		return nil, "there is no GPU to take turns on with PyTorch"
	}
	return append([]string{torch}, names(contests())...), ""
}

// How a contest goes.
const (
	turns      = 5 // of each side
	turnLength = 500 * time.Millisecond
)

// runPeers looks for PyTorch, or lets one of its ways take turns with the model.
func runPeers(ctx context.Context, e *Env, p *Part) error {
	if p.Name == torch {
		return e.findTorch(ctx, p)
	}
	t, err := e.torch()
	if err != nil {
		return err
	}
	contest, err := find(contests(), p.Name)
	if err != nil {
		return err
	}
	d, err := e.Open()
	if err != nil {
		return err
	}
	o := beside.Options{Rounds: turns, Length: turnLength}
	if e.Reduced() {
		o = beside.Options{Rounds: 1, Set: []string{"train.batch=4", "train.microbatch=2"}}
	}
	o.Cache = e.dir // parts of one case compile much the same
	got, err := beside.Run(ctx, contest, &beside.Torch{Python: t.Python, Version: t.Version, CUDA: true}, d, o)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	if p.Peer = got; got.Failed != "" {
		return errors.Join(d.Close(), skipf("PyTorch gave up: %s", got.Failed))
	}
	return d.Close()
}

// findTorch looks for PyTorch and leaves what it has found to later parts: importing it
// takes seconds.
func (e *Env) findTorch(ctx context.Context, p *Part) error {
	t, err := beside.Find(ctx, beside.Pythons(), "cuda")
	switch {
	case ctx.Err() != nil:
		p.Reason = outOfTime + ": PyTorch was being looked for"
		return context.Cause(ctx)
	case errors.Is(err, beside.ErrNoTorch):
		return skipf("%v", err)
	case err != nil:
		return err
	}
	p.Torch = &Torch{t.Python, t.Version}
	text, err := json.Marshal(p.Torch)
	if err != nil {
		return err
	}
	return ckpt.WriteFile(filepath.Join(e.dir, torch), text)
}

// torch is the PyTorch that was found.
func (e *Env) torch() (*Torch, error) {
	text, err := os.ReadFile(filepath.Join(e.dir, torch))
	if err != nil {
		return nil, skipf("no PyTorch was found")
	}
	t := new(Torch)
	return t, json.Unmarshal(text, t)
}

// peerText is what the page says of a contest.
func peerText(r *beside.Result) string {
	if r.Rounds == 0 {
		return fmt.Sprintf("%d examples, PyTorch %s", r.Batch, r.Torch)
	}
	return fmt.Sprintf("%d examples in %.3f ms, PyTorch %s in %.3f ms, %.2f times as long", r.Batch, 1e3*r.Ours, r.Torch, 1e3*r.Peers, r.Ratio)
}
