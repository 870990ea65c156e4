package cpu

import (
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/philox"
)

// maxGroup bounds the words that randomWords makes at a time.
const maxGroup = 32

// RandFill fills dst with words base, base+1, … of a random stream: word n is lane n%4 of
// Philox4x32-10 under the seed at counter (n/4, example, step, stream<<16 | layer).
func (w *Worker) RandFill(dst []uint32, e *device.Env, stream, example uint32, base int) {
	key := philox.KeyOf(e.Seed)
	ctr := [4]uint32{uint32(base / 4), example, e.Step, stream<<16 | uint32(e.Layer)}
	group, skip := randomGroup[w.isa], base%4
	for len(dst) > 0 {
		n := len(dst) / group * group
		if n > 0 && skip == 0 {
			randomWords(w.isa, dst[:n], &key, &ctr)
		} else {
			var part [maxGroup]uint32
			randomWords(w.isa, part[:group], &key, &ctr)
			n = copy(dst, part[skip:group])
		}
		ctr[0] += uint32((skip + n) / 4)
		dst, skip = dst[n:], 0
	}
}

// randomWordsGo fills dst with the words of counters from ctr.
func randomWordsGo(dst []uint32, key *philox.Key, ctr *[4]uint32) {
	c := *ctr
	for ; len(dst) > 0; dst = dst[4:] {
		*(*[4]uint32)(dst) = philox.Block(*key, c)
		c[0]++
	}
}
