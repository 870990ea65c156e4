package counted

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/abi"
)

// TestWords reads back the scalars and the shapes of packed parameters.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		scalars               []string
		shapes, step, scratch bool
		sets                  int
		args                  abi.Args
	}{
		{[]string{"B", "example", "decay"}, false, true, true, 0, abi.Args{Buffers: []abi.Buffer{{At: 16, Stride: 32}}, Words: []uint32{1, 2, 3}, Further: 4, Step: 5, Scratch: 6, Bytes: 7}},
		{[]string{"N"}, true, true, false, 0, abi.Args{Buffers: []abi.Buffer{{At: 1, Stride: 2}}, Shapes: 3, Words: []uint32{4}, Step: 5}},
		{[]string{"B"}, false, false, false, 3, abi.Args{Buffers: []abi.Buffer{{At: 1, Stride: 2}, {At: 3, Stride: 4}}, Sets: 2, Words: []uint32{9}}},
	} {
		s, err := abi.Sign(abi.Find, c.scalars, c.shapes, c.step, c.scratch)
		if err != nil {
			t.Fatal(err)
		}
		s.Sets = c.sets
		args := s.Append(nil, &c.args)
		if words, shapes, err := Words(&s, args); err != nil || shapes != c.args.Shapes || !slices.Equal(words, c.args.Words) {
			t.Errorf("%v: scalars %v and shapes at %d, %v", c.scalars, words, shapes, err)
		}
		if _, _, err := Words(&s, args[:len(args)-8]); err == nil {
			t.Errorf("%v: parameters of another entry are read", c.scalars)
		}
	}
}
