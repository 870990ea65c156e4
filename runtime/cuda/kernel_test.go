package cuda_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/counted"
)

// listener is a driver that reads back the scalars of every launch of one module.
type listener struct {
	cuda.Driver
	kernels map[string]*cuda.Kernel
	heard   map[string][]device.Env
	moved   map[string][2]float64 // FLOP and bytes of the Machine's own kernels
}

func (l *listener) Load(ptx string) (cuda.Module, error) {
	m, err := l.Driver.Load(ptx)
	return listened{m, l, ptx == cuda.MovePTX}, err
}

type listened struct {
	cuda.Module
	l   *listener
	own bool
}

func (m listened) Function(name string) (cuda.Function, error) {
	f, err := m.Module.Function(name)
	return heard{f, m, name}, err
}

type heard struct {
	cuda.Function
	m    listened
	name string
}

func (h heard) Launch(grid, block [3]int, shared int, args []byte) error {
	if h.m.own {
		flops, bytes := counted.LeastWork(h.name, grid, args)
		was := h.m.l.moved[h.name]
		h.m.l.moved[h.name] = [2]float64{was[0] + flops, was[1] + bytes}
	} else {
		envs, err := counted.Envs(h.m.l.kernels[h.name], args, grid[1], nil)
		if err != nil {
			return err
		}
		h.m.l.heard[h.name] = append(h.m.l.heard[h.name], envs...)
	}
	return h.Function.Launch(grid, block, shared, args)
}

// TestEnvOfALaunch packs launches as a Machine does and reads them back.
func TestEnvOfALaunch(t *testing.T) {
	p := program(1, 0)
	// mirror's parameter is a number of elements. The bits of this float are 2.
	two := math.Float32frombits(2)
	p.Kernels[mirror].Scalars = []string{"decay"}
	_, inner := newMachine(t, program(1, 0), 4)
	l := &listener{Driver: inner.Driver, kernels: map[string]*cuda.Kernel{}, heard: map[string][]device.Env{}, moved: map[string][2]float64{}}
	for i := range p.Kernels {
		l.kernels[p.Kernels[i].Name] = &p.Kernels[i]
	}
	m, err := cuda.NewMachine(cuda.NewDevice(l), p, &device.Plan{NumParams: 4}, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3
	m.Sum(2, func(w device.Worker, i int) {
		w.Fit(16, 0)
		w.PutFloats(ref(device.Work, 0), []float32{1, 2, 3})
		w.Queue().Launch(accumulate, &device.Env{N: n, Example: uint32(7 + 5*i), Step: 9, B: 8}, ref(device.Grads, 0), ref(device.Work, 0))
	})
	m.Root().Fit(16, 0)
	m.Root().PutFloats(ref(device.Work, 0), []float32{1, 2})
	m.Root().Queue().Launch(mirror, &device.Env{N: 2, Decay: two}, ref(device.Work, 0))
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	if got := l.heard["accumulate"]; len(got) != 1 || got[0] != (device.Env{N: n, Example: 7}) {
		t.Errorf("two replicas of accumulate: %+v", got)
	}
	if got := l.heard["mirror"]; len(got) != 1 || got[0] != (device.Env{Decay: two}) {
		t.Errorf("mirror: %+v", got)
	}
	// The gradients of 4 parameters are cleared in two replicas. Three words go to each replica,
	// and two to the root. The second gradients are added to the first.
	want := map[string][2]float64{"clear": {0, 4 * 4 * 2}, "copy": {0, 2 * 4 * (2*n + 2)}, "sum": {4, 3 * 4 * 4}}
	for name, w := range want {
		if l.moved[name] != w {
			t.Errorf("%s: %v FLOP and bytes, want %v", name, l.moved[name], w)
		}
	}
	if _, err := counted.Envs(&p.Kernels[accumulate], make([]byte, 36), 1, nil); err == nil {
		t.Error("parameters of another kernel are read")
	}
}

// TestJoin puts as many sets into a launch as the kernel takes, and the rest into another.
func TestJoin(t *testing.T) {
	at := func(i int) device.Ref { return ref(device.Work, i) }
	words := func(x ...uint64) (b []byte) {
		for _, x := range x {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		return b
	}
	k := cuda.Kernel{Scalars: []string{"B", "T"}, Sets: 2, Blocks: func(e *device.Env) int { return e.N }}
	e := &device.Env{B: 7, N: 5}
	want := []cuda.Packed{{[3]int{5, 1, 2}, words(4, 0, 8, 0, 7)}, {[3]int{5, 1, 1}, words(12, 0, 0, 0, 7)}}
	if got := cuda.PackJoined(k, e, at(1), at(2), at(3)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := cuda.PackJoined(k, &device.Env{}, at(1), at(2)); len(got) > 0 {
		t.Errorf("without a block: %v", got)
	}
	k.Sets = 0
	if got := cuda.PackJoined(k, e, at(1), at(2)); len(got) != 2 {
		t.Errorf("of a kernel that takes one set: %v", got)
	}
}

// TestEveryScalarComesBack has kernels without buffers, with a scalar and then an example.
func TestEveryScalarComesBack(t *testing.T) {
	all := device.Env{B: 1, T: 2, S: 3, C: 4, P: 5, N: 6, Layer: 7, Example: 8, Decay: 0.5, Step: 9}
	for name, want := range map[string]device.Env{
		"B": {B: 1}, "T": {T: 2}, "S": {S: 3}, "C": {C: 4}, "P": {P: 5}, "N": {N: 6}, "layer": {Layer: 7}, "decay": {Decay: 0.5}, "example": {},
	} {
		want.Example = 8
		for _, k := range []cuda.Kernel{
			{Scalars: []string{name, "example"}},
			{Scalars: []string{name, "example"}, Step: true, Scratch: func(*device.Env) int { return 4 }},
		} {
			if e, err := counted.Envs(&k, cuda.Pack(k, &all), 1, nil); err != nil || len(e) != 1 || e[0] != want {
				t.Errorf("%s: %+v, %v, want %+v", name, e, err, want)
			}
		}
	}
}
