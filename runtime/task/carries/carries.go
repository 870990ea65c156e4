// Package carries draws additions with long carries, as a curriculum asks for. Only programs of
// such specs link it.
package carries

import (
	"slices"

	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
)

// Draw draws two numbers of these lengths, place by place from the lowest. The two digits
// add up to the highest digit, which passes a carry on, with probability 1/2; to more, which
// makes a carry, with 1/4; else, or if no such digits exist, they are any. A number has 0 above
// its highest place.
func Draw(t *task.Task, d *task.Draft, src *philox.Source, lengths [2]int) {
	cfg := t.Config()
	d.Room(2)
	for n, x := range d.Operands {
		d.Operands[n] = slices.Grow(x[:0], lengths[n])[:lengths[n]]
	}
	top := cfg.Base - 1
	for place := range max(lengths[0], lengths[1]) {
		var lo, hi [2]int
		for n, length := range lengths {
			if place < length {
				hi[n] = top
			}
			if place == length-1 && (length > 1 || cfg.Sequence) {
				lo[n] = 1
			}
		}
		least, most := 0, 2*top
		switch src.Intn(4) {
		case 0, 1:
			least, most = top, top
		case 2:
			least = top + 1
		}
		pair, ok := drawPair(src, lo, hi, least, most)
		if !ok {
			pair, _ = drawPair(src, lo, hi, 0, 2*top)
		}
		for n, length := range lengths {
			if place < length {
				d.Operands[n][length-1-place] = task.Digits[pair[n]]
			}
		}
	}
}

// drawPair draws two numbers within bounds whose sum is least to most, each pair equally
// likely; not ok: no such pair exists.
func drawPair(src *philox.Source, lo, hi [2]int, least, most int) (pair [2]int, ok bool) {
	seconds := func(a int) (from, n int) {
		from = max(lo[1], least-a)
		return from, max(min(hi[1], most-a)-from+1, 0)
	}
	count := 0
	for a := lo[0]; a <= hi[0]; a++ {
		_, n := seconds(a)
		count += n
	}
	if count == 0 {
		return pair, false
	}
	at := src.Intn(count)
	for a := lo[0]; ; a++ {
		from, n := seconds(a)
		if at < n {
			return [2]int{a, from + at}, true
		}
		at -= n
	}
}
