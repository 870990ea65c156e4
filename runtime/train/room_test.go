package train

import (
	"slices"
	"testing"
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
