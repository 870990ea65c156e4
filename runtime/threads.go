package runtime

import (
	"fmt"
	"github.com/arithlang/mlc/runtime/processor"
	goruntime "runtime"

	"github.com/arithlang/mlc/runtime/train"
)

// sayThreads says which threads of a training have nothing to do, and what would help.
func (c *trainCmd) sayThreads(a app, t *train.Trainer) {
	m, ok := local(t.Machine).(*processor.Machine)
	if !ok {
		return
	}
	threads, chunks, ranks := m.Threads(), t.Config.Chunks(), max(a.ranks.size(), 1)
	if have := goruntime.GOMAXPROCS(0); threads > have {
		c.say(a, "%d threads take turns on %d cores: the bits are the same, and it is no faster\n", threads, have)
	}
	if wait := threads*ranks - chunks; wait > 0 {
		c.say(a, "%d threads, and a step has %d chunks of %d examples: %d threads wait while gradients are computed. %s. mlc bench %s.arith --cores %d says what it gives\n",
			threads*ranks, chunks, max(t.Config.Chunk, t.Config.MicroBatch), wait, remedy(t.Config.Batch, threads*ranks), a.identity().name, threads*ranks)
	}
}

// remedy is how a batch has work for so many threads.
func remedy(batch, threads int) string {
	size := train.Serving(batch, threads)
	if size == 0 {
		return fmt.Sprintf("a batch of %d has work for %d threads at most, with train.chunk = 1: make train.batch larger", batch, batch)
	}
	return fmt.Sprintf("train.chunk = %d has work for all; it is of the spec, since sums are then added in another order", size)
}
