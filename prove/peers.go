package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/arithlang/mlc/prove/beside"
)

// Torch is the PyTorch that there is.
type Torch struct {
	Python  string `json:"python"` // its path
	Version string `json:"version"`
}

// torch is the part that looks for PyTorch.
const torch = "torch"

// contests are all, compiled models last: compiling takes a minute each.
func contests() []beside.Contest {
	all := beside.Contests("cuda", runtime.NumCPU())
	slices.SortStableFunc(all, func(a, b beside.Contest) int { return cmp.Compare(b.Way.Peer, a.Way.Peer) })
	return all
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

// runPeers looks for PyTorch, and lets one of its ways take turns with the model.
func runPeers(ctx context.Context, e *Env, p *Part) error {
	t, err := beside.Find(ctx, beside.Pythons(), "cuda")
	if errors.Is(err, beside.ErrNoTorch) {
		return skipf("%v", err)
	}
	if err != nil {
		return err
	}
	if p.Name == torch {
		p.Torch = &Torch{t.Python, t.Version}
		return nil
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
	got, err := beside.Run(ctx, contest, t, d, o)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	if p.Peer = got; got.Failed != "" {
		return errors.Join(d.Close(), skipf("PyTorch gave up: %s", got.Failed))
	}
	return d.Close()
}

// peerText is what the page says of a contest.
func peerText(r *beside.Result) string {
	if r.Rounds == 0 {
		return fmt.Sprintf("%d examples, PyTorch %s", r.Batch, r.Torch)
	}
	return fmt.Sprintf("%d examples in %.3f ms, PyTorch %s in %.3f ms, %.2f times as long", r.Batch, 1e3*r.Ours, r.Torch, 1e3*r.Peers, r.Ratio)
}
