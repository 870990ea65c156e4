package philox

import "testing"

// The three vectors come from the Random123 distribution (kat_vectors).
func TestBlock(t *testing.T) {
	for _, c := range []struct {
		key  Key
		ctr  [4]uint32
		want [4]uint32
	}{
		{Key{}, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{Key{^uint32(0), ^uint32(0)}, [4]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{Key{0xa4093822, 0x299f31d0}, [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Block(c.key, c.ctr); got != c.want {
			t.Errorf("Block(%x, %x) = %x, want %x", c.key, c.ctr, got, c.want)
		}
	}
}

func TestIntnIsUniform(t *testing.T) {
	src := NewSource(7, Test, 0, 0)
	var count [6]int
	const draws = 60_000
	for range draws {
		count[src.Intn(6)]++
	}
	for face, n := range count {
		if n < draws/6-500 || n > draws/6+500 {
			t.Errorf("face %d came %d times in %d", face, n, draws)
		}
	}
}

func TestSourcesDiffer(t *testing.T) {
	seen := map[uint32]bool{}
	for _, src := range []*Source{
		NewSource(1, Init, 0, 0), NewSource(2, Init, 0, 0), NewSource(1<<32|1, Init, 0, 0), NewSource(1, Test, 0, 0),
		NewSource(1, Init, 1, 0), NewSource(1, Init, 1<<32, 0), NewSource(1, Init, 0, 1),
	} {
		for range 9 {
			w := src.Uint32()
			if seen[w] {
				t.Fatalf("word %08x comes twice", w)
			}
			seen[w] = true
		}
	}
}

func TestSkip(t *testing.T) {
	all := NewSource(7, Init, 3, 1)
	for n := range uint64(23) {
		some := NewSource(7, Init, 3, 1)
		some.Skip(n)
		if got, want := some.Uint32(), all.Uint32(); got != want {
			t.Errorf("after %d words comes %#x, want %#x", n, got, want)
		}
	}
}
