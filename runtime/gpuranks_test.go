package runtime

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/world"
)

// TestRanksOnGPUs trains on several simulated GPUs, one a rank: the bytes are the same as on
// one processor.
func TestRanksOnGPUs(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.Chunk, m.Train.MicroBatch = 50, 16, 8
	whole := trained(t, m, "--device", "cpu", "--steps", "3", "-q")
	alone := func() world.App {
		return world.App{Model: m, In: strings.NewReader(""), GPU: func() (cuda.Driver, error) { return simulatedGPU(t), nil }}
	}
	for size := 1; size <= 4; size++ {
		for _, flags := range [][]string{{"--device", "sim"}, {"--device", "cuda", "--shard-optimizer"}, {"--device", "cuda", "--ranks", "mpi"}} {
			dir := filepath.Join(t.TempDir(), "run")
			s := onRanks(t, size, late, alone, append([]string{"train", "--out", dir, "--steps", "3"}, flags...)...)
			if s.code != 0 {
				t.Fatalf("%d ranks, %v: exit %d\n%s", size, flags, s.code, s.err)
			}
			sameRun(t, whole, dir)
			if noted := strings.Contains(s.err, "through the host"); noted != (flags[1] == "cuda" && flags[len(flags)-1] != "mpi") {
				t.Errorf("%v: %s", flags, s.err)
			}
		}
	}
}

// TestRankWithoutGPU lets all ranks use processors if one has no GPU, and fails if GPUs are
// required.
func TestRankWithoutGPU(t *testing.T) {
	m := toyOnGPU()
	whole := trained(t, m, "--device", "cpu", "--steps", "3", "-q")
	var opened atomic.Int32
	alone := func() world.App {
		return world.App{Model: m, In: strings.NewReader(""), GPU: func() (cuda.Driver, error) {
			if opened.Add(1)%2 == 0 {
				return nil, cuda.ErrUnavailable
			}
			return simulatedGPU(t), nil
		}}
	}
	dir := filepath.Join(t.TempDir(), "run")
	if s := onRanks(t, 2, late, alone, "train", "--out", dir, "--steps", "3"); s.code != 0 || !strings.Contains(s.err, "each cpu") {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	sameRun(t, whole, dir)
	opened.Store(0)
	if s := onRanks(t, 2, late, alone, "train", "--out", dir+"2", "--device", "cuda"); s.code != 1 || !strings.Contains(s.err, cuda.ErrUnavailable.Error()) {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestRankWhoseGPUFails lets the GPU of one rank fail in a step. No other rank waits for it,
// and the saved run can be resumed.
func TestRankWhoseGPUFails(t *testing.T) {
	m := toyOnGPU()
	whole := trained(t, m, "--device", "cpu", "--steps", "6", "-q")
	for failing := range int32(2) {
		dir := filepath.Join(t.TempDir(), "run")
		var opened atomic.Int32
		alone := func() world.App {
			return world.App{Model: m, In: strings.NewReader(""), GPU: func() (cuda.Driver, error) {
				if opened.Add(1)-1 == failing {
					return failsAt(t, "gradients", 5, false)()
				}
				return simulatedGPU(t), nil
			}}
		}
		args := []string{"train", "--resume=auto", "--out", dir, "--steps", "6", "--device", "cuda", "--ranks", "mpi", "--save", "1ms"}
		commtest.Run(2, commtest.Faults{}, func(w comm.World) error {
			a := alone()
			a.World = w
			if s := callApp(t, a, append([]string{"./toy"}, args...)); s.code == 0 {
				t.Errorf("rank %d has not noticed", w.Rank())
			}
			return nil
		})
		if s := call(t, m, "", "train", "--resume=auto", "--out", dir, "--steps", "6", "--device", "cpu", "-q"); s.code != 0 {
			t.Fatal(s.err)
		}
		sameRun(t, whole, dir)
	}
}
