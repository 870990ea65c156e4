package ir

import "testing"

// TestPhilox compares with the known answers that the authors publish with their code
// (Random123, kat_vectors).
func TestPhilox(t *testing.T) {
	cases := []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	}
	for _, c := range cases {
		if got := Philox(c.ctr, c.key); got != c.want {
			t.Errorf("%x under %x is %x, want %x", c.ctr, c.key, got, c.want)
		}
	}
}

func TestPhiloxCounter(t *testing.T) {
	env := Env{Seed: 0xa4093822_299f31d0, Step: 5, Layer: 3}
	want := Philox([4]uint32{2, 11, 5, 9<<16 | 3}, [2]uint32{0x299f31d0, 0xa4093822})
	for lane := range 4 {
		if got := env.philox(9, 11, 8+lane); got != want[lane] {
			t.Errorf("word %d is %x, want %x", 8+lane, got, want[lane])
		}
	}
}
