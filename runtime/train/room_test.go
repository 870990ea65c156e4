package train

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// TestRooms uses the room of two launches, whose losses go to the places of their rows.
func TestRooms(t *testing.T) {
	var r rooms
	for range 2 { // the second time in the same memory
		r.make(2, 4)
		first, second := r.take(3, 2), r.take(0, 3)
		if len(first) != 4 || len(second) != 4 {
			t.Fatalf("rooms of %d and %d", len(first), len(second))
		}
		copy(first, []float32{1, 2, 9, 9})
		copy(second, []float32{3, 4, 5, 9})
		losses := make([]float32, 5)
		r.empty(losses)
		if want := []float32{3, 4, 5, 1, 2}; !slices.Equal(losses, want) {
			t.Errorf("losses %v, want %v", losses, want)
		}
		r.empty(losses[:0]) // of a step without rooms
	}
}

// TestPad appends zeros to values, and returns long enough values unchanged.
func TestPad(t *testing.T) {
	s := &stepper{}
	if got := s.pad([]int32{1, 2, 3}, 5); !slices.Equal(got, []int32{1, 2, 3, 0, 0}) {
		t.Errorf("%v", got)
	}
	if got := s.pad([]int32{4}, 3); !slices.Equal(got, []int32{4, 0, 0}) {
		t.Errorf("%v", got)
	}
	whole := []int32{5, 6}
	if got := s.pad(whole, 2); &got[0] != &whole[0] {
		t.Error("values that are enough are copied")
	}
}

// TestMakeRoom gives launches of a packed batch the room of the largest, rounded up to a part of
// the most rows, if a machine repeats launches.
func TestMakeRoom(t *testing.T) {
	for _, c := range []struct {
		name            string
		packed, repeats bool
		cfg             Config
		want            device.Extent
		losses          [maxPasses]int
	}{
		{"a machine that repeats nothing", true, false, Config{}, device.Extent{}, [maxPasses]int{}},
		{"rows that are not packed", false, true, Config{}, device.Extent{}, [maxPasses]int{}},
		{"packed", true, true, Config{}, device.Extent{B: 2, T: 40, R: 60, C: 40}, [maxPasses]int{180}},
		{"two passes", true, true, Config{Progressive: true, Alpha: 0.5, Times: 2, Backprop: 1}, device.Extent{B: 2, T: 40, R: 60, C: 40}, [maxPasses]int{180, 180}},
		{"the second pass alone", true, true, Config{Progressive: true, Alpha: 1, Times: 2, Backprop: 1}, device.Extent{B: 2, T: 40, R: 60, C: 40}, [maxPasses]int{0, 180}},
	} {
		// Launches of 40 + 16, 30 + 10 and 20 rows. A part is a sixteenth of 2 * 40 rows.
		batch := task.Batch{B: 5, T: 40, Parts: task.Parts{Size: 1, Rows: []int{40, 16, 30, 10, 20}, Starts: []int{0, 40, 56, 86, 96}},
			Packing: task.Packing{Example: make([]int32, 116), Start: make([]int32, 5), Length: make([]int32, 5)}, Target: make([]int32, 116), Labels: make([]int32, 116)}
		s := &stepper{Trainer: &Trainer{Plan: &device.Plan{Packed: c.packed}, Machine: &memory{repeats: c.repeats}, Config: c.cfg}, batch: batch, examples: 2, now: &flight{}}
		s.makeRoom()
		var losses [maxPasses]int
		for i, r := range s.now.rooms {
			losses[i] = len(r.losses)
		}
		if s.room != c.want || losses != c.losses {
			t.Errorf("%s: %+v and %d losses, want %+v and %d", c.name, s.room, losses, c.want, c.losses)
		}
	}
}
