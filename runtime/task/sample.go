package task

import (
	"math"
	"math/bits"

	"github.com/arithlang/mlc/runtime/philox"
)

// Train returns training example k of the run. With Below, the training numbers
// are walked epoch by epoch, each epoch in an order of its own, and the operands
// of a problem are walked independently.
func (t *Task) Train(k int64) Problem {
	var d draft
	t.train(&d, k)
	return t.problem(&d)
}

func (t *Task) train(d *draft, k int64) {
	if t.cfg.Below == 0 {
		t.drawn(d, philox.Sampled, k, false)
		return
	}
	epoch, i := uint32(k/t.trained), k%t.trained
	t.ordered(d, func(operand int) int64 {
		return t.order(philox.Epochs, t.trained, epoch, operand).at(i)
	})
}

// HeldOut returns problem k of those that training never sees. Without a hold-out
// they are like the training problems, in another order.
func (t *Task) HeldOut(k int64) Problem {
	var d draft
	if t.cfg.Below == 0 {
		t.drawn(&d, philox.Held, k, true)
		return t.problem(&d)
	}
	held := t.cfg.Below - t.trained
	t.ordered(&d, func(int) int64 {
		if held == 0 {
			return k % t.cfg.Below
		}
		return t.trained + k%held
	})
	return t.problem(&d)
}

// ordered makes the problem whose operands stand at these places of the order of
// [0, Below).
func (t *Task) ordered(d *draft, place func(operand int) int64) {
	t.numbered(d, func(operand int) int64 {
		return t.order(philox.Values, t.cfg.Below, 0, operand).at(place(operand))
	})
}

func (t *Task) order(stream philox.Stream, n int64, turn uint32, operand int) permutation {
	return newPermutation(philox.KeyOf(t.seed), uint64(n), turn, uint32(stream)<<16|uint32(operand))
}

// drawn makes problem k of a stream of problems with DigitsLo to DigitsHi digits,
// on the wanted side of the hold-out if there is one.
func (t *Task) drawn(d *draft, stream philox.Stream, k int64, held bool) {
	src := philox.NewSource(t.seed, stream, uint64(k), 0)
	draw := func() {
		for i := range t.kind.arity {
			d.operands[i] = t.random(d.operands[i][:0], src, t.cfg.DigitsLo+src.Intn(t.cfg.DigitsHi-t.cfg.DigitsLo+1))
		}
		t.solve(d)
	}
	draw()
	if t.cfg.Holdout == 0 {
		return
	}
	// A side that has no problem at all is given up after a number of draws that
	// misses one with a chance of exp(-40).
	tries := int(40 / min(t.cfg.Holdout, 1-t.cfg.Holdout))
	for ; t.isHeldOut(d) != held && tries > 0; tries-- {
		draw()
	}
}

// isHeldOut draws the side of the hold-out that a problem is on from its text, by
// way of the text's hash.
func (t *Task) isHeldOut(d *draft) bool {
	h := uint64(fnvOffset)
	for i := range t.kind.arity {
		if i > 0 {
			h = fnv(h, t.kind.op)
		}
		h = fnv(h, d.operands[i])
	}
	src := philox.NewSource(t.seed, philox.Split, h, 0)
	return src.Float64() < t.cfg.Holdout
}

const fnvOffset = 0xcbf29ce484222325

// fnv goes on with a 64-bit FNV-1a hash.
func fnv[T text](h uint64, x T) uint64 {
	for i := range len(x) {
		h = (h ^ uint64(x[i])) * 0x100000001b3
	}
	return h
}

// Test returns n problems whose operands have exactly so many digits: distinct
// ones, all of them if there are fewer than n. For more than a quintillion
// possible problems they are drawn one by one.
func (t *Task) Test(length, n int) []Problem {
	first, count := t.range64(length)
	total := uint64(1)
	for range t.kind.arity {
		hi, lo := bits.Mul64(total, uint64(count))
		if hi > 0 || lo > maxDomain || count == 0 {
			return t.testDrawn(length, n)
		}
		total = lo
	}
	n = int(min(uint64(n), total))
	order := newPermutation(philox.KeyOf(t.seed), total, uint32(length), uint32(philox.Test)<<16|1)
	problems := make([]Problem, n)
	var d draft
	for k := range problems {
		rest := order.at(int64(k))
		t.numbered(&d, func(int) int64 {
			value := first + rest%count
			rest /= count
			return value
		})
		problems[k] = t.problem(&d)
	}
	return problems
}

func (t *Task) testDrawn(length, n int) []Problem {
	problems := make([]Problem, n)
	var d draft
	for k := range problems {
		src := philox.NewSource(t.seed, philox.Test, uint64(length)<<32|uint64(k), 0)
		for i := range t.kind.arity {
			d.operands[i] = t.random(d.operands[i][:0], src, length)
		}
		t.solve(&d)
		problems[k] = t.problem(&d)
	}
	return problems
}

// range64 is the first number with so many digits and how many there are; count is
// 0 when that is too many for the permutation. Zero is a number of one digit.
func (t *Task) range64(length int) (first, count int64) {
	first = 1
	for range length - 1 {
		if first > math.MaxInt64/int64(t.cfg.Base) {
			return 0, 0
		}
		first *= int64(t.cfg.Base)
	}
	if length == 1 {
		return 0, int64(t.cfg.Base)
	}
	if first > math.MaxInt64/int64(t.cfg.Base) {
		return 0, 0
	}
	return first, first * int64(t.cfg.Base-1)
}

// random appends a number of exactly so many digits, each equally likely.
func (t *Task) random(dst []byte, src *philox.Source, length int) []byte {
	first := len(dst)
	for range length {
		dst = append(dst, digits[src.Intn(t.cfg.Base)])
	}
	if length > 1 {
		dst[first] = digits[1+src.Intn(t.cfg.Base-1)]
	}
	return dst
}
