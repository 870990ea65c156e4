package abi

import (
	"slices"
	"testing"
)

// TestAppend packs parameters at the offsets that their types require.
func TestAppend(t *testing.T) {
	s, err := Sign(Find, []string{"B", "example", "decay"}, false, true, true)
	if err != nil {
		t.Fatal(err)
	}
	args := s.Append(nil, &Args{Buffers: []Buffer{{0x10, 0x20}}, Words: []uint32{1, 2, 3}, Further: 4, Step: 5, Scratch: 6, Bytes: 7})
	want := []byte{
		0x10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0,
		5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0,
	}
	if !slices.Equal(args, want) {
		t.Errorf("%v, want %v", args, want)
	}
	at := 0
	for _, p := range s.Types(1) {
		at = (at+p.Bytes()-1)/p.Bytes()*p.Bytes() + p.Bytes()
	}
	if at != len(want) {
		t.Errorf("parameters of types %v end at %d, not %d", s.Types(1), at, len(want))
	}
	for _, name := range []string{"Q", "lr"} {
		if _, err := Sign(Find, []string{name}, false, false, false); err == nil {
			t.Errorf("%s is a parameter", name)
		}
	}
	if _, err := Sign(Find, []string{"R"}, true, false, false); err == nil {
		t.Error("a number of rows is a parameter beside shapes")
	}
}

// TestShapes packs the parameters of an entry with shapes, and a shape.
func TestShapes(t *testing.T) {
	s, err := Sign(Find, []string{"N"}, true, true, false)
	if err != nil {
		t.Fatal(err)
	}
	args := s.Append(nil, &Args{Buffers: []Buffer{{1, 2}}, Shapes: 3, Words: []uint32{4}, Step: 5})
	want := make([]byte, 40)
	for i, at := range []int{0, 8, 16, 24, 32} {
		want[at] = byte(i + 1)
	}
	if !slices.Equal(args, want) {
		t.Errorf("%v, want %v", args, want)
	}
	bits := map[string]uint32{"B": 10, "T": 11, "S": 12, "R": 13, "C": 14, "example": 15}
	shape := NewShape(7, func(s Scalar) uint32 { return bits[s.Name] })
	if want := (Shape{10, 11, 12, 13, 14, 15, 0, 7}); shape != want {
		t.Errorf("%v, want %v", shape, want)
	}
	for name, x := range bits {
		if shape[ShapeWord(name)] != x {
			t.Errorf("%s is in another word than %d", name, ShapeWord(name))
		}
	}
	if got := shape.Append([]byte{1}); len(got) != 1+ShapeWords*WordBytes || got[1] != 10 || got[29] != 7 {
		t.Errorf("packed as %v", got)
	}
}

// TestSets packs two sets of two buffers into room for three sets.
func TestSets(t *testing.T) {
	s := Signature{Scalars: Scalars()[:1], Sets: 3}
	args := s.Append(nil, &Args{Buffers: []Buffer{{1, 2}, {3, 4}, {5, 6}, {7, 8}}, Sets: 2, Words: []uint32{9}})
	want := make([]byte, 3*2*RefBytes+4)
	for i := range 8 {
		want[8*i] = byte(i + 1)
	}
	want[3*2*RefBytes] = 9
	if !slices.Equal(args, want) {
		t.Errorf("%v, want %v", args, want)
	}
}

// TestOddScalars aligns an address after an odd number of words to 8 bytes.
func TestOddScalars(t *testing.T) {
	s, _ := Sign(Find, []string{"B"}, false, true, false)
	if args := s.Append(nil, &Args{Words: []uint32{1}, Step: 5}); !slices.Equal(args, []byte{1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("%v", args)
	}
}

// TestStep wants as many words in the block as its constant says, in order.
func TestStep(t *testing.T) {
	n := 0
	for _, s := range Scalars() {
		if s.Of != OfStep {
			if StepWord(s.Name) >= 0 {
				t.Errorf("%s is in the block", s.Name)
			}
			continue
		}
		if StepWord(s.Name) != n {
			t.Errorf("%s is word %d, not %d", s.Name, StepWord(s.Name), n)
		}
		n++
	}
	if n != StepWords {
		t.Errorf("%d words", n)
	}
}
