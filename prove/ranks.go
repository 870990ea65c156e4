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

// Ranks is what came of training by two processes on one GPU.
type Ranks struct {
	Library string `json:"library"` // with its version
	Steps
	Other    string    `json:"other"`              // SHA-256 of rank 1's parameters and moments
	Exchange float64   `json:"exchange,omitempty"` // seconds of a further step in which gradients went between ranks, waiting included
	Alone    []float64 `json:"alone"`              // seconds of each step with one rank
}

// numRanks is how many train.
const numRanks = 2

// shared are trials of which ranks add up unequal slices of the gradients, and equal ones:
// those NCCL gathers by another function.
func shared() []trial {
	return slices.DeleteFunc(trials(), func(t trial) bool { return t.name != "tiny" && t.name != "small/looped" })
}

func rankParts(e *Env) ([]string, string) {
	if e.Device != "cuda" {
		return nil, "NCCL needs a GPU of NVIDIA's"
	}
	return names(shared()), ""
}

// runRanks trains one of the trials, alone and then as rank 0 of two; or as rank 1, where
// that one has asked for it.
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

// patience is the share of its time that a rank waits for the other, which leaves some to
// say so.
const patience = 0.6

// together trains as one of the ranks. What keeps them from meeting is nobody's mistake.
func (e *Env) together(ctx context.Context, m *live.Model, rank int, meet string) (*Ranks, error) {
	start := time.Now()
	d, err := e.Open()
	if err != nil {
		return nil, skipf("two processes cannot open the GPU, which nvidia-smi --compute-mode=DEFAULT may allow: %s", oneLine(err))
	}
	by, err := nccl.Open(nccl.Options{Driver: d, Rank: rank, Size: numRanks, Meet: meet, Timeout: scale(left(ctx), patience)})
	if err != nil {
		return nil, skipf("two ranks cannot meet on this GPU by NCCL, which has to be 2.30 or later (pip install --upgrade nvidia-nccl-cu12): %s", oneLine(err))
	}
	return rankSteps(ctx, m, d, by.World, by.Device, start)
}

// rankSteps trains as one of the ranks that have met, and takes a further step to see what
// their exchange takes. It closes what they met by.
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

// exchange takes a step and says how long gradients were on their way, by the clock of rank
// 0's device.
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

// equals are ranks that know by themselves what to do: a train.Ranks.
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

// String is what the page says of them.
func (r *Ranks) String() string {
	const milli = 1e3
	text := fmt.Sprintf("%d ranks by %s, %s; the fastest step in %.2f ms, with one rank in %.2f ms",
		numRanks, r.Library, r.Steps.String(), milli*slices.Min(r.Seconds), milli*slices.Min(r.Alone))
	if r.Exchange > 0 {
		text += fmt.Sprintf("; gradients on their way for %.2f ms", milli*r.Exchange)
	}
	return text
}
