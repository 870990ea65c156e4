// Package ptxtest runs emitted kernels on the simulator of package ptxsim, on the inputs of
// package kerneltest. It compares them with the kernel interpreter bit for bit. The tests and the
// mutation gate of package codegen/ptx use it.
package ptxtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
)

// A Way is the set-up and the order of a launch. No result depends on it.
type Way struct {
	Order    ptxsim.Order
	Seed     uint64
	Blocks   int   // blocks of a replica; 0: as many as are worth launching
	Replicas int   // at most Replicas
	Sets     int   // sets of buffers, at most Sets; 0: 1
	Global   bool  // tiles are in global scratch, not in shared memory
	Skew     int   // elements from a multiple of 256 bytes to a buffer
	Limit    int64 // most lane instructions; 0: unlimited
	Arch     int   // the GPU's architecture; 0: ptx.Arch
	Reach    bool  // record the launch for Reached
}

// All asks for a block a cell and one idle block.
const All = 1 << 30

// Replicas and Sets are the most that a Way's launch has.
const Replicas, Sets = 3, 2

func (w Way) String() string {
	return fmt.Sprintf("order %d, seed %d, blocks %d, replicas %d, sets %d, global %t, skew %d, sm_%d", w.Order, w.Seed, w.Blocks, w.Replicas, w.Sets, w.Global, w.Skew, w.GPU())
}

// GPU returns the architecture of the device.
func (w Way) GPU() int { return cmp.Or(w.Arch, ptx.Arch) }

// Ways covers each order, number of blocks, replicas and sets, place of the tiles and
// alignment, and the pairs that interact.
func Ways() []Way {
	return []Way{
		{Order: ptxsim.RoundRobin, Seed: 1, Blocks: 0, Replicas: 1, Arch: 90},
		{Order: ptxsim.Reversed, Seed: 2, Blocks: 1, Replicas: 1, Global: true},
		{Order: ptxsim.Random, Seed: 3, Blocks: 3, Replicas: 3, Sets: 2, Skew: 1},
		{Order: ptxsim.Greedy, Seed: 4, Blocks: All, Replicas: 1, Skew: 3},
		{Order: ptxsim.Random, Seed: 5, Blocks: 2, Replicas: 3, Sets: 2, Global: true, Skew: 2, Arch: 90},
		{Order: ptxsim.Greedy, Seed: 6, Blocks: 1, Replicas: 2, Sets: 2},
	}
}

// Launches returns the launches of package kerneltest, and one with more rows, and longer rows, than
// a block takes at a time.
func Launches() []kernel.Scalars {
	all := kerneltest.Launches()
	large := maps.Clone(all[len(all)-1])
	large["B"], large["T"], large["S"], large["C"], large["N"] = 4, 71, 75, 71, 9001
	return append(all, large)
}

// Compare emits the kernels as one module and checks each kernel in a subtest, in every launch;
// every second launch has positive inputs. A launch runs in one of the ways, round-robin over
// launches and kernels; with -tags full in half of the ways, with all in each. Without launches
// a kernel takes a third of Launches, or all of them if a launch runs in several ways.
func Compare(t *testing.T, ks []*kernel.Kernel, o ptx.Options, all bool, launches ...kernel.Scalars) {
	t.Helper()
	CompareOn(t, []kerneltest.Kind{kerneltest.Signed, kerneltest.Positive}, ks, o, all, launches...)
}

// CompareOn is Compare with inputs of some kinds, round-robin.
func CompareOn(t *testing.T, kinds []kerneltest.Kind, ks []*kernel.Kernel, o ptx.Options, all bool, launches ...kernel.Scalars) {
	t.Helper()
	step := len(Ways())
	switch {
	case all:
		step = 1
	case full.Tests:
		step = 2
	}
	out, err := ptx.Module(ks, o)
	if err != nil {
		t.Fatal(err)
	}
	every := 1
	if len(launches) == 0 {
		launches = Launches()
		if step == len(Ways()) {
			every = 3
		}
	}
	runs := make([]*Runner, len(Ways()))
	if runs[0], err = Load(out, Ways()[0]); err != nil {
		t.Fatal(err)
	}
	for n, k := range ks {
		t.Run(k.Name, func(t *testing.T) {
			for i, s := range launches {
				if (i+n)%every != 0 {
					continue
				}
				kind := kinds[i%len(kinds)]
				var some []*Runner
				for j := (n + i) % step; j < len(runs); j += step {
					if runs[j] == nil {
						if runs[j], err = runs[0].In(Ways()[j]); err != nil {
							t.Fatal(err)
						}
					}
					some = append(some, runs[j])
				}
				if err := compare(k, s, kind, uint64(i), some); err != nil {
					t.Errorf("%v inputs, launch %v: %v", kind, s, err)
				}
			}
		})
	}
}

// compare checks one launch in some ways, if it suits the kernel, and returns the first error.
func compare(k *kernel.Kernel, s kernel.Scalars, kind kerneltest.Kind, seed uint64, runs []*Runner) error {
	cases := map[int]*Case{} // cases by architecture, if results depend on it
	for _, r := range runs {
		e, arch := r.entries[k.Name], 0
		if e.Tensor {
			arch = r.way.GPU()
		}
		if cases[arch] == nil {
			var err error
			cases[arch], err = NewCase(k, s, kind, seed, e, arch)
			if errors.Is(err, kerneltest.ErrNotFor) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if err := r.Check(cases[arch]); err != nil {
			return fmt.Errorf("%v: %w", r.way, err)
		}
	}
	return nil
}
