package several

import (
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
)

// A laneView shows one of several models that a machine trains at once as if it were the only
// one. The machine's steps train all models; a view takes no steps. Tests run on another
// machine, to which Each first copies the model's parameters.
type laneView struct {
	device.Machine                    // for tests
	all            *processor.Machine // trains all models
	root           laneWorker
}

// newLaneView returns a view of a lane. Views of one machine may share the machine for tests if
// they use it one after another.
func newLaneView(all *processor.Machine, lanes, lane int, tests device.Machine) *laneView {
	return &laneView{tests, all, laneWorker{all.Root().(floats), lanes, lane}}
}

// About describes the machine that trains.
func (v *laneView) About() device.About { return v.all.About() }

// Root has the parameters and states of the model.
func (v *laneView) Root() device.Worker { return v.root }

// Each runs on the machine for tests.
func (v *laneView) Each(n int, f func(w device.Worker, i int)) {
	params := make([]float32, len(v.root.F32(device.Ref{Space: device.Params}))/v.root.lanes)
	at := device.Ref{Space: device.Params}
	v.root.GetFloats(params, at)
	v.Machine.Root().PutFloats(at, params)
	v.Machine.Each(n, f)
}

// A laneWorker gives access to the memory of a lane.
type laneWorker struct {
	floats
	lanes, lane int
}

// floats are workers whose memory is the host's.
type floats interface {
	device.Worker
	F32(r device.Ref) []float32
}

// row returns a space from r to its end. Every lanes-th element belongs to this lane.
func (w laneWorker) row(r device.Ref) []float32 { return w.F32(r)[w.lane:] }

func (w laneWorker) Zero(r device.Ref, n int) {
	to := w.row(r)
	for i := range n {
		to[i*w.lanes] = 0
	}
}

func (w laneWorker) PutFloats(r device.Ref, src []float32) {
	to := w.row(r)
	for i, x := range src {
		to[i*w.lanes] = x
	}
}

func (w laneWorker) GetFloats(dst []float32, r device.Ref) {
	from := w.row(r)
	for i := range dst {
		dst[i] = from[i*w.lanes]
	}
}
