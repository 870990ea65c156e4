package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/simulated"
)

// onRanks calls f once a rank. A rank that fails ends the others.
func onRanks(size int, faults commtest.Faults, f func(w comm.World) error) []error {
	errs := make([]error, size)
	commtest.Run(size, faults, func(w comm.World) error {
		if errs[w.Rank()] = f(w); errs[w.Rank()] != nil {
			w.Abort(1)
		}
		return nil
	})
	return errs
}

// rank returns the machine of one rank, on a new simulated GPU.
func rank(w comm.World, params int, o cuda.Options) (*cuda.Machine, *counting, error) {
	d, err := simulated.Open(ptxsim.Options{Memory: 64 << 20})
	if err != nil {
		return nil, nil, err
	}
	c := &counting{Driver: d}
	if w != nil {
		o.Ranks = cuda.Staged(c, w)
	}
	m, err := cuda.NewMachine(cuda.NewDevice(c), program(1, 0), &device.Plan{NumParams: params}, o)
	return m, c, err
}

// gradients returns a machine's sums of each number of chunks, in three equal rounds.
func gradients(m *cuda.Machine, params int, chunks []int) (all [][]float32, err error) {
	for range 3 {
		r := rand.New(rand.NewPCG(5, 6))
		for _, n := range chunks {
			pieces := pieces(r, params)[:n]
			back := slices.Repeat([][]float32{make([]float32, 2*params)}, n)
			got := make([]float32, params)
			done := false
			err := m.Later(func() {
				sumOf(m, pieces, 1, back)
				m.Root().GetFloats(got, ref(device.Grads, 0))
			}, func() { done = true })
			if err := errors.Join(err, m.Err()); err != nil || !done {
				return nil, fmt.Errorf("%d chunks: done is %t, %w", n, done, err)
			}
			all = append(all, got)
		}
	}
	return all, nil
}

// TestRanks adds up chunks on 1 to 4 ranks. All have the bits of one machine, also with fewer
// chunks than ranks, with empty slices and with late messages. Repeated work between two meetings
// is a graph.
func TestRanks(t *testing.T) {
	chunks := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11}
	for _, params := range []int{2, 7, 75} {
		one, _, err := rank(nil, params, cuda.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := gradients(one, params, chunks)
		if err != nil {
			t.Fatal(err)
		}
		for size := 1; size <= 4; size++ {
			errs := onRanks(size, commtest.Faults{Seed: uint64(size), Delay: time.Millisecond / 4}, func(w comm.World) error {
				m, c, err := rank(w, params, cuda.Options{Blocking: size == 4})
				if err != nil {
					return err
				}
				got, err := gradients(m, params, chunks)
				if err != nil {
					return err
				}
				for i := range want {
					if !slices.Equal(bits(got[i]), bits(want[i])) {
						return fmt.Errorf("rank %d of %d, %d chunks, %d parameters: %v, want %v", w.Rank(), size, chunks[i%len(chunks)], params, got[i], want[i])
					}
				}
				if size < 4 && (c.captures == 0 || c.graphs <= c.captures) {
					return fmt.Errorf("%d captures, %d launches of graphs", c.captures, c.graphs)
				}
				return m.Close()
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDealsChunks checks that each rank computes its chunks, in order.
func TestDealsChunks(t *testing.T) {
	const n, size = 7, 3
	called := make([][]int, size)
	errs := onRanks(size, commtest.Faults{}, func(w comm.World) error {
		m, _, err := rank(w, 5, cuda.Options{})
		if err != nil {
			return err
		}
		m.Sum(n, func(_ device.Worker, i int) { called[w.Rank()] = append(called[w.Rank()], i) })
		return m.Err()
	})
	if err := errors.Join(errs...); err != nil || !slices.EqualFunc(called, [][]int{{0, 1}, {2, 3}, {4, 5, 6}}, slices.Equal) {
		t.Errorf("%v, %v", called, err)
	}
}

// TestRankFails checks that all ranks return the World's error and do nothing afterwards.
func TestRankFails(t *testing.T) {
	const inExchange, inGather = 1, 2
	for _, fail := range []int{inExchange, inGather} {
		errs := onRanks(3, commtest.Faults{Fail: fail}, func(w comm.World) error {
			m, _, err := rank(w, 75, cuda.Options{})
			if err != nil {
				return err
			}
			got := []float32{-1}
			m.Sum(5, func(w device.Worker, _ int) {
				w.Fit(1, 0)
				w.PutFloats(ref(device.Grads, 0), []float32{1})
			})
			m.Root().GetFloats(got, ref(device.Grads, 0))
			if err := m.Err(); !errors.Is(err, commtest.ErrFailed) || got[0] != -1 {
				return fmt.Errorf("rank %d: %v, %v", w.Rank(), err, got)
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}

// TestWatchRanks checks that each meeting is a lap if launches have marks, and that no meeting is
// without them.
func TestWatchRanks(t *testing.T) {
	for _, each := range []bool{false, true} {
		errs := onRanks(2, commtest.Faults{}, func(w comm.World) error {
			m, _, err := rank(w, 75, cuda.Options{})
			if err != nil {
				return err
			}
			watch, err := m.Watch(each)
			if err != nil {
				return err
			}
			met := 0
			watch.Each(func(_ int, _ time.Duration, other string) {
				if strings.Contains(other, "ranks") {
					met++
				}
			})
			if _, err := gradients(m, 75, []int{4}); err != nil {
				return err
			}
			laps, err := watch.Read()
			if want := map[bool]int{true: 3 * 2}[each]; laps.Ranks.Times != want || met != want {
				return fmt.Errorf("each %t: %d and %d laps between ranks, want %d, %w", each, laps.Ranks.Times, met, want, err)
			}
			return errors.Join(err, watch.Close())
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}

// TestKernelFailsBetweenRanks checks that the error names the kernel, though the ranks wait first.
func TestKernelFailsBetweenRanks(t *testing.T) {
	onRanks(1, commtest.Faults{}, func(w comm.World) error {
		m, _, err := rank(w, 4, cuda.Options{Blocking: true})
		if err != nil {
			t.Error(err)
			return err
		}
		m.Sum(2, func(w device.Worker, _ int) {
			e := w.Env()
			*e = device.Env{N: 4}
			w.Queue().Launch(mirror, e, ref(device.Params, 512))
		})
		if err := m.Err(); err == nil || !strings.Contains(err.Error(), "kernel mirror") {
			t.Errorf("error: %v", err)
		}
		return nil
	})
}

func bits(x []float32) (b []uint32) {
	for _, v := range x {
		b = append(b, math.Float32bits(v))
	}
	return b
}
