package lower_test

import (
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
)

// TestCut wants micro-batches that fit a cache and divide a chunk, and several chunks.
func TestCut(t *testing.T) {
	plain, biased := build(t, variants[0]).Entry("gradients"), build(t, variants[3]).Entry("gradients")
	for _, c := range []struct {
		entry                        *lower.Entry
		batch, micro, source, target int
		group, chunk                 int
		want                         lower.Batches
	}{
		{plain, 512, 0, 125, 62, 0, 0, lower.Batches{Micro: 32, Chunk: 32}},
		{plain, 512, 25, 125, 62, 0, 0, lower.Batches{Micro: 25, Chunk: 50}},
		{plain, 512, 0, 4000, 4000, 0, 0, lower.Batches{Micro: 1, Chunk: 32}},
		{biased, 512, 0, 4000, 4000, 0, 0, lower.Batches{Micro: 8, Chunk: 32}},
		{biased, 20, 0, 9, 8, 0, 0, lower.Batches{Micro: 5, Chunk: 5}},
		{plain, 4096, 0, 125, 62, 0, 0, lower.Batches{Micro: 32, Chunk: 256}},
		{plain, 100, 0, 9, 8, 0, 0, lower.Batches{Micro: 16, Chunk: 32}},
		{plain, 1, 0, 9, 8, 0, 0, lower.Batches{Micro: 1, Chunk: 1}},
		{plain, 3, 3, 9, 8, 0, 0, lower.Batches{Micro: 3, Chunk: 3}},
		{plain, 512, 0, 125, 62, 64, 0, lower.Batches{Micro: 32, Chunk: 32, Group: 64}},
		{plain, 512, 0, 125, 62, 50, 0, lower.Batches{Micro: 25, Chunk: 50, Group: 50}},
		{plain, 4096, 0, 9, 8, 6, 0, lower.Batches{Micro: 6, Chunk: 258, Group: 6}},
		{biased, 512, 0, 4000, 4000, 7, 0, lower.Batches{Micro: 7, Chunk: 35, Group: 7}},
		{plain, 512, 0, 125, 62, 0, 1, lower.Batches{Micro: 1, Chunk: 1}},
		{plain, 512, 0, 125, 62, 0, 512, lower.Batches{Micro: 32, Chunk: 512}},
		{plain, 512, 0, 125, 62, 0, 30, lower.Batches{Micro: 30, Chunk: 30}},
		{plain, 512, 25, 125, 62, 0, 75, lower.Batches{Micro: 25, Chunk: 75}},
		{biased, 512, 0, 4000, 4000, 0, 12, lower.Batches{Micro: 6, Chunk: 12}},
		{plain, 512, 0, 125, 62, 64, 16, lower.Batches{Micro: 16, Chunk: 16, Group: 64}},
		{plain, 512, 0, 125, 62, 64, 96, lower.Batches{Micro: 32, Chunk: 96, Group: 64}},
		{biased, 512, 0, 4000, 4000, 7, 8, lower.Batches{Micro: 1, Chunk: 8, Group: 7}},
	} {
		got, err := lower.Cut(c.entry, c.batch, lower.Batches{Micro: c.micro, Chunk: c.chunk, Group: c.group}, c.source, c.target)
		if err != nil || got != c.want {
			t.Errorf("a batch of %d, micro %d, chunk %d, at %d and %d is cut as %v (%v), want %v", c.batch, c.micro, c.chunk, c.source, c.target, got, err, c.want)
		}
	}
}

// TestGeometry wants launches of all chunks, as large as draws and the program allow.
func TestGeometry(t *testing.T) {
	for _, c := range []struct {
		batches     lower.Batches
		batch, rows int
		any         bool
		want        kernel.Geometry
	}{
		{lower.Batches{Micro: 8, Chunk: 32}, 512, 62, true, kernel.Geometry{Rows: 32 * 62, Replicas: 16}},
		{lower.Batches{Micro: 8, Chunk: 32}, 512, 62, false, kernel.Geometry{Rows: 8 * 62, Replicas: 16}},
		{lower.Batches{Micro: 1, Chunk: 32, Group: 4}, 100, 20, true, kernel.Geometry{Rows: 4 * 20, Replicas: 4}},
		{lower.Batches{Micro: 4, Chunk: 16}, 3, 20, true, kernel.Geometry{Rows: 3 * 20, Replicas: 1}},
	} {
		if got := c.batches.Geometry(c.batch, c.rows, c.any); got != c.want {
			t.Errorf("%+v, a batch of %d, any launch %v: %+v, want %+v", c.batches, c.batch, c.any, got, c.want)
		}
	}
}
