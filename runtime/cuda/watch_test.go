//go:build !nogpu && linux && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/simulated"
)

// blocks is the blocks of a launch of mirror. On the fake device it takes one microsecond per
// block, and all other work takes one.
const blocks = 7

func fakeMachine(t *testing.T, lib *fakecuda.Library) *cuda.Machine {
	t.Helper()
	lib.Reset()
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	if err != nil {
		t.Fatal(err)
	}
	m, err := cuda.NewMachine(cuda.NewDevice(d), program(blocks, 0), &device.Plan{NumParams: 10}, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := lib.Live(); n != 0 {
			t.Errorf("%d things were not freed", n)
		}
	})
	return m
}

// mirrors runs n launches of mirror.
func mirrors(m *cuda.Machine, n int) error {
	w := m.Root()
	w.Fit(20, 0)
	for range n {
		w.Queue().Launch(mirror, &device.Env{N: 10}, ref(device.Work, 0))
	}
	return m.Err()
}

// micro returns n laps of a microsecond each.
func micro(n int) cuda.Lap { return cuda.Lap{Times: n, Time: time.Duration(n) * time.Microsecond} }

// TestWatchEach checks that laps are the device's times, however slow the host is and however
// often marks are read in between.
func TestWatchEach(t *testing.T) {
	lib := fakecuda.Build(t)
	m := fakeMachine(t, lib)
	if err := mirrors(m, 1); err != nil {
		t.Fatal(err)
	}
	w, err := m.Watch(true)
	if err != nil {
		t.Fatal(err)
	}
	x, back := make([]float32, 10), [][]float32{make([]float32, 30)}
	for round := range 3 {
		before := len(lib.Launches())
		const many = 1000 // several times the number of marks
		sumOf(m, []gradient{{lumps: [][]float32{x, x, x}}}, 1, back)
		if err := mirrors(m, many); err != nil {
			t.Fatal(err)
		}
		laps, err := w.Read()
		if err != nil {
			t.Fatal(err)
		}
		// A sum of one piece clears once and copies each lump in and out. There were two flushes
		// and the end.
		want := cuda.Laps{Kernels: []cuda.Lap{accumulate: micro(3), mirror: {Times: many, Time: many * blocks * time.Microsecond}},
			Copy: micro(6), Clear: micro(1), Transfers: micro(2), Idle: cuda.Lap{Times: 3}}
		laps.Idle.Time = 0 // the fake device's clock stands still
		if !slices.Equal(laps.Kernels, want.Kernels) || laps.Copy != want.Copy || laps.Clear != want.Clear || laps.Add != want.Add ||
			laps.Transfers != want.Transfers || laps.Idle != want.Idle || laps.Whole != (cuda.Lap{}) {
			t.Errorf("round %d:\n%+v, want\n%+v", round, laps, want)
		}
		if total := (12 + many*blocks) * time.Microsecond; laps.Total() != total {
			t.Errorf("%v in all, want %v", laps.Total(), total)
		}
		held := 0
		for _, l := range lib.Launches()[before:] {
			if l.Name == "hold" {
				held++
			}
		}
		if held < many/256 || held > many/200+3 {
			t.Errorf("round %d: the device was held %d times", round, held)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := mirrors(m, 1); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestWatchWhole watches graphs from outside and counts launches by the driver.
func TestWatchWhole(t *testing.T) {
	lib := fakecuda.Build(t)
	m := fakeMachine(t, lib)
	w, err := m.Watch(false)
	if err != nil {
		t.Fatal(err)
	}
	const launches, rounds = 20, 400 // more rounds than marks
	var sum cuda.Laps
	for round := range rounds {
		if err := mirrors(m, launches); err != nil {
			t.Fatal(err)
		}
		if round%150 == 149 || round == rounds-1 {
			laps, err := w.Read()
			if err != nil {
				t.Fatal(err)
			}
			sum.Whole.Times += laps.Whole.Times
			sum.Whole.Time += laps.Whole.Time
			if laps.Total() != laps.Whole.Time {
				t.Errorf("%+v", laps)
			}
		}
	}
	if want := (cuda.Lap{Times: rounds, Time: rounds * launches * blocks * time.Microsecond}); sum.Whole != want {
		t.Errorf("%+v, want %+v", sum.Whole, want)
	}
	// The first round is launched kernel by kernel; all others are replays.
	if got, want := m.Calls(), (cuda.Calls{Kernels: launches * rounds, Driver: launches + rounds - 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if n := len(lib.Launches()); n != launches*rounds {
		t.Errorf("%d kernels have run", n)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestWatchFails makes one function after another fail, early and late.
func TestWatchFails(t *testing.T) {
	lib := fakecuda.Build(t)
	for _, function := range []string{"cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime", "cuEventDestroy_v2", "cuLaunchKernel"} {
		for _, after := range []int{0, 3, 200} {
			t.Run(fmt.Sprint(function, after), func(t *testing.T) {
				m := fakeMachine(t, lib)
				lib.Fail(function, 2, after)
				err := watched(m)
				var e *cuda.Error
				if !errors.As(err, &e) || e.Code != cuda.OutOfMemory {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// watched works and reads the clock until something fails.
func watched(m *cuda.Machine) error {
	w, err := m.Watch(true)
	if err != nil {
		return err
	}
	err = mirrors(m, 300)
	if err == nil {
		_, err = w.Read()
	}
	return errors.Join(err, w.Close())
}

// clocked is a device with a clock, so that the Watch holds it.
type clocked struct{ cuda.Driver }

func (c clocked) Info() cuda.Info {
	i := c.Driver.Info()
	i.Clock = 1000 // kHz
	return i
}

// TestWatchChangesNothing runs the kernels, hold among them, on the simulator.
func TestWatchChangesNothing(t *testing.T) {
	var results [][]float32
	for _, watch := range []bool{false, true} {
		d, err := simulated.Open(ptxsim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := &counting{Driver: clocked{d}}
		m, err := cuda.NewMachine(cuda.NewDevice(c), program(1, 0), &device.Plan{NumParams: 10}, cuda.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if watch {
			w, err := m.Watch(true)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				laps, err := w.Read()
				if err != nil || laps.Kernels[accumulate].Times != 9 || laps.Kernels[accumulate].Time <= 0 || laps.Add.Time <= 0 ||
					laps.Transfers.Time <= 0 || laps.Idle.Time < 0 || laps.Total() <= laps.Kernels[accumulate].Time || c.captures > 0 {
					t.Errorf("%+v, %v", laps, err)
				}
			}()
		}
		x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
		for range 3 {
			sumOf(m, []gradient{{lumps: [][]float32{x, x, x}}, {lumps: [][]float32{x, x, x}}}, 1, [][]float32{make([]float32, 30), make([]float32, 30)})
		}
		got := make([]float32, 10)
		m.Root().GetFloats(got, ref(device.Grads, 0))
		if err := m.Err(); err != nil {
			t.Fatal(err)
		}
		results = append(results, got)
	}
	if !slices.Equal(results[0], results[1]) || results[0][0] == 0 {
		t.Errorf("%v", results)
	}
}
