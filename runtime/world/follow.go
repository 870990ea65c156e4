package world

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"unsafe"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// A follower is a rank that obeys rank 0.
type follower struct {
	app   App
	flags *Flags
	*Ranks
	trainer *train.Trainer
	tasks   map[uint64]*task.Task // of the open model, by seed
}

// A began describes a training to followers.
type began struct {
	Config train.Config
	Padded bool
	State  train.State
}

// Ended is the exit code of rank 0 as an error.
type Ended int

func (e Ended) Error() string { return fmt.Sprintf("rank 0 has ended with code %d", int(e)) }

// follow obeys rank 0 until that ends.
func (a App) follow(flags *Flags) error {
	f := &follower{app: a, flags: flags, Ranks: a.Ranks}
	for {
		o, payload, args, err := f.hear()
		if err == nil && o == orderEnd {
			return Ended(args[0])
		}
		if err == nil {
			err = f.do(o, payload, args)
		}
		if err != nil {
			fmt.Fprintf(a.Err, "%s, rank %d of %d on %s: %v\n", a.Identity().Name, f.Rank(), f.Size(), hostname(), err)
			f.Abort(ExitFailed)
			return err
		}
	}
}

func (f *follower) do(o order, payload []byte, args []int64) error {
	space := device.Space(args[0])
	switch o {
	case orderOpen:
		return f.open(int(args[0]), string(payload))
	case orderTrain:
		var t began
		if err := json.Unmarshal(payload, &t); err != nil {
			return err
		}
		return f.train(t)
	case orderPut:
		f.machine.Root().PutFloats(device.Ref{Space: space, Off: int(args[1])}, floats(payload))
		return f.machine.Err()
	case orderZero:
		f.machine.Root().Zero(device.Ref{Space: space, Off: int(args[1])}, int(args[2]))
		return f.machine.Err()
	case orderStep:
		return f.trainer.Follow(int(args[0]), math.Float64frombits(uint64(args[1])))
	case orderGather:
		return f.Share(space, f.bounds)
	case orderTime:
		if m, ok := f.machine.(*processor.Machine); ok {
			m.Time(args[0] == 1)
		}
		return nil
	case orderAsk:
		var q eval.Question
		if err := json.Unmarshal(payload, &q); err != nil {
			return err
		}
		return f.answer(&q)
	}
	return fmt.Errorf("BUG: rank 0 has given order %d", o)
}

// open opens a machine for a model. The device is rank 0's choice, since a model trained on a
// simulator is tested on the processor.
func (f *follower) open(stage int, device string) error {
	if stage >= 0 {
		f.app.Model = *f.app.Whole.Model(stage)
	}
	if f.machine != nil {
		if err := CloseMachine(f.machine); err != nil {
			return err
		}
	}
	f.trainer, f.tasks = nil, map[uint64]*task.Task{}
	on := *f.flags
	on.Device = device
	_, err := on.Open(f.app)
	return err
}

// train prepares for steps. Rank 0 sends parameters before or after this.
func (f *follower) train(t began) error {
	m := &f.app.Model
	cfg := m.Task
	cfg.Padded = t.Padded
	problems, err := task.New(cfg, t.Config.Seed, m.Kit)
	if err != nil {
		return err
	}
	f.trainer = &train.Trainer{Machine: f.machine, Plan: &m.Plan, Params: m.Params, Task: problems, Config: t.Config, State: t.State, Ranks: f.Ranks}
	f.bounds = f.trainer.Shards(f.Size())
	return f.trainer.Check()
}

// answer answers this rank's part of a question.
func (f *follower) answer(q *eval.Question) error {
	m := &f.app.Model
	of := f.tasks[q.Seed]
	if of == nil {
		var err error
		if of, err = m.NewTask(q.Seed); err != nil {
			return err
		}
		f.tasks[q.Seed] = of
	}
	model := eval.Model{Machine: f.machine, Plan: &m.Plan, Task: of.WithPad(q.Pad), Seed: q.Seed, Runs: q.Runs}
	_, err := f.Ask(q, func(problems []task.Problem) ([]eval.Answer, error) {
		part := *q
		part.Problems = problems
		return model.Answer(context.Background(), &part) // rank 0 handles signals
	})
	return err
}

// floats returns the numbers in bytes that rank 0 has sent. The bytes are aligned: they are a
// separate slice.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/ElemBytes)
}
