package prove

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cuda"
)

// TestRankSteps trains by two ranks with simulated GPUs. It checks the processor's bits on both,
// and one rank's loss.
func TestRankSteps(t *testing.T) {
	t.Parallel()
	e := &Env{Device: "sim"}
	for _, trial := range full.Some(shared(), 1) {
		m, err := trial.config(reducedSize)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := e.alone(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		want := processorHashes()[trial.name+" "+reducedSize]
		err = errors.Join(commtest.Run(numRanks, commtest.Faults{}, func(w comm.World) error {
			d, err := e.Open()
			if err != nil {
				return err
			}
			got, err := rankSteps(t.Context(), m, d, w, cuda.Staged(d, w), time.Now())
			switch {
			case err != nil:
				return err
			case got.Hash != want:
				return fmt.Errorf("%s: rank %d has other bits than the processor", trial.name, w.Rank())
			case w.Rank() == 0 && (got.Loss != alone.Loss || len(got.Seconds) != trainSteps):
				return fmt.Errorf("%s: the loss is %g, want %g; times of %d steps", trial.name, got.Loss, alone.Loss, len(got.Seconds))
			}
			return nil
		})...)
		if err != nil {
			t.Error(err)
		}
	}
	if _, why := rankParts(e); !strings.Contains(why, "needs an NVIDIA GPU") {
		t.Errorf("on the simulator: %q", why)
	}
}
