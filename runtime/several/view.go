package several

import (
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
)

// A laneView shows one of several models that a machine trains at once as if it were the
// only one. Steps are those of all, and not asked of it; tests of the model run on another
// machine, onto which its parameters are copied first.
type laneView struct {
	device.Machine                    // for tests
	all            *processor.Machine // that trains
	root           laneWorker
}

// newLaneView shows a lane of a machine. Views of one machine may share the one for tests, as
// long as they are used one after another.
func newLaneView(all *processor.Machine, lanes, lane int, tests device.Machine) *laneView {
	return &laneView{tests, all, laneWorker{all.Root().(floats), lanes, lane}}
}

// About is that of the machine that trains.
func (v *laneView) About() device.About { return v.all.About() }

// Root has the parameters and states of the model.
func (v *laneView) Root() device.Worker { return v.root }

// Each is that of tests.
func (v *laneView) Each(n int, f func(w device.Worker, i int)) {
	params := make([]float32, len(v.root.F32(device.Ref{Space: device.Params}))/v.root.lanes)
	at := device.Ref{Space: device.Params}
	v.root.GetFloats(params, at)
	v.Machine.Root().PutFloats(at, params)
	v.Machine.Each(n, f)
}

// A laneWorker is the worker of a lane, as far as memory goes.
type laneWorker struct {
	floats
	lanes, lane int
}

// floats are a worker whose memory is the host's.
type floats interface {
	device.Worker
	F32(r device.Ref) []float32
}

// row is a space of the model at hand from r to its end, as every Lanes-th element.
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
