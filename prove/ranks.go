package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/nccl"
	"github.com/arithlang/mlc/runtime/device"
)

// Ranks is the result of training by two processes on one GPU.
type Ranks struct {
	Library string `json:"library"` // name and version
	Steps
	Other    string    `json:"other"`              // SHA-256 of rank 1's parameters and moments
	Exchange float64   `json:"exchange,omitempty"` // seconds that gradients were exchanged in one more step, waiting included
	Alone    []float64 `json:"alone"`              // seconds of each step with one rank
}

// numRanks is the number of ranks that train.
const numRanks = 2

// shared returns trials with unequal slices of the gradients per rank, and with equal ones. NCCL
// gathers the two by different functions.
func shared() []trial {
	return slices.DeleteFunc(trials(), func(t trial) bool { return t.name != "tiny" && t.name != "small/looped" })
}

func rankParts(e *Env) ([]string, string) {
	if e.Device != "cuda" {
		return nil, "NCCL needs an NVIDIA GPU"
	}
	return names(shared()), ""
}

// runRanks trains one of the trials, first alone and then as rank 0 of two. If rank 0 has started
// this process, it trains as rank 1.
func runRanks(ctx context.Context, e *Env, p *Part) error {
	trial, err := find(shared(), p.Name)
	if err != nil {
		return err
	}
	library, err := nccl.Find("")
	if err != nil {
		return skipf("%s", oneLine(err))
	}
	m, err := trial.config(e.size())
	if err != nil {
		return err
	}
	if e.meet != "" {
		got, err := e.together(ctx, m, 1, e.meet)
		if err == nil {
			p.Steps = &got.Steps
		}
		return err
	}
	alone, err := e.alone(ctx, m)
	if err != nil {
		return err
	}
	got, err := e.lead(ctx, m, p)
	if err != nil {
		return err
	}
	p.Ranks, got.Library, got.Alone = got, "NCCL "+library.Version, alone.Seconds
	if got.Want = processorHashes()[p.Name+" "+e.size()]; e.hash != nil {
		got.Want = e.hash(got.Want)
	}
	for rank, hash := range [numRanks]string{got.Hash, got.Other} {
		if hash != got.Want {
			p.wrong("%s: after %d steps of %d examples parameters and moments of rank %d of %d have other bits than the processor's: SHA-256 %.16s…, want %.16s…",
				p.Name, got.Steps.Steps, got.Batch, rank, numRanks, hash, got.Want)
		}
	}
	return nil
}

// alone trains with one rank.
func (e *Env) alone(ctx context.Context, m *live.Model) (*Steps, error) {
	start := time.Now()
	d, err := e.Open()
	if err != nil {
		return nil, err
	}
	machine, err := m.Machine(d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	got, err := steps(ctx, m, machine, nil, start)
	return got, errors.Join(err, machine.Close())
}

// patience is the share of its time that a rank waits for the other. The rest is left to report a
// failure.
const patience = 0.6

// together trains as one of the ranks. If the ranks cannot meet, it returns a skip: nothing is
// wrong.
func (e *Env) together(ctx context.Context, m *live.Model, rank int, meet string) (*Ranks, error) {
	start := time.Now()
	d, err := e.Open()
	if err != nil {
		return nil, skipf("two processes cannot open the GPU; nvidia-smi --compute-mode=DEFAULT may allow it: %s", oneLine(err))
	}
	by, err := nccl.Open(nccl.Options{Driver: d, Rank: rank, Size: numRanks, Meet: meet, Timeout: scale(left(ctx), patience)})
	if err != nil {
		return nil, skipf("two ranks cannot meet on this GPU by NCCL, which must be 2.30 or later (pip install --upgrade nvidia-nccl-cu12): %s", oneLine(err))
	}
	return rankSteps(ctx, m, d, by.World, by.Device, start)
}

// rankSteps trains as one of the ranks that have met, and runs one more step to time their
// exchange. It closes w and the machine.
func rankSteps(ctx context.Context, m *live.Model, d cuda.Driver, w comm.World, by cuda.Collective, start time.Time) (*Ranks, error) {
	machine, err := m.Ranked(d, by)
	if err != nil {
		return nil, err
	}
	got, err := steps(ctx, m, machine, equals{w}, start)
	if err != nil {
		return nil, err
	}
	took, err := exchange(m, machine, w)
	if err != nil {
		return nil, err
	}
	return &Ranks{Steps: *got, Exchange: took.Seconds()}, errors.Join(w.Close(0), machine.Close())
}

// exchange runs a step and returns how long gradients were exchanged, by the clock of rank 0's
// device.
func exchange(m *live.Model, machine *cuda.Machine, w comm.World) (time.Duration, error) {
	t, err := m.Trainer(machine)
	if err != nil {
		return 0, err
	}
	t.Ranks = equals{w}
	if w.Rank() > 0 {
		_, err := t.Step(t.Config.LR)
		return 0, err
	}
	watch, err := machine.Watch(true)
	if err != nil {
		return 0, err
	}
	_, err = t.Step(t.Config.LR)
	if err != nil {
		return 0, errors.Join(err, watch.Close())
	}
	laps, err := watch.Read()
	return laps.Ranks.Time, errors.Join(err, watch.Close())
}

// equals is a train.Ranks without messages: every rank knows the steps.
type equals struct{ comm.World }

func (equals) Step(int, float64) error { return nil }

func (equals) Shards() bool { return false }

func (equals) Share(device.Space, []int) error {
	return errors.New("BUG: ranks without shards share some")
}

func (r equals) Collect(arrays [][]float32, bounds []int) error {
	var send, receive []comm.Part
	part := func(x []float32, rank int) []byte { return comm.Bytes(x[bounds[rank]:bounds[rank+1]]) }
	for _, x := range arrays {
		if r.Rank() > 0 {
			send = append(send, comm.Part{Rank: 0, Data: part(x, r.Rank())})
			continue
		}
		for from := 1; from < r.Size(); from++ {
			receive = append(receive, comm.Part{Rank: from, Data: part(x, from)})
		}
	}
	return r.Exchange(send, receive)
}

// String formats the result for the page.
func (r *Ranks) String() string {
	const milli = 1e3
	text := fmt.Sprintf("%d ranks by %s, %s; the fastest step in %.2f ms, with one rank in %.2f ms",
		numRanks, r.Library, r.Steps.String(), milli*slices.Min(r.Seconds), milli*slices.Min(r.Alone))
	if r.Exchange > 0 {
		text += fmt.Sprintf("; gradients exchanged in %.2f ms", milli*r.Exchange)
	}
	return text
}
