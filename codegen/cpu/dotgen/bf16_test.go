package main

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// TestPairsCode compares the code with GNU as 2.40.
func TestPairsCode(t *testing.T) {
	for _, c := range []struct {
		x, y, sum uint32
		want      string
	}{
		{0, 0, 0, "62f27e4852c0"},
		{1, 2, 4, "62f26e4852e1"},
		{4, 4, 4, "62f25e4852e4"},
		{8, 16, 31, "62427e4052f8"},
		{16, 8, 1, "62b23e4852c8"},
		{31, 1, 8, "6212764852c7"},
		{2, 31, 16, "62e2064052c2"},
	} {
		long, word := pairsCode(c.x, c.y, c.sum)
		code := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(nil, long), word)
		if got := fmt.Sprintf("%x", code); got != c.want {
			t.Errorf("z%d, z%d, z%d is %s, want %s", c.x, c.y, c.sum, got, c.want)
		}
	}
}
