package task

import "github.com/arithlang/mlc/runtime/philox"

// The code released with Duan, Shi & Xu (arXiv:2310.11984) takes operands from lists of 2^20
// entries. The lists are shuffled and split like the paper's numbers below 2^20. The list of
// successor is these numbers.
const (
	Listed     = 1 << 20
	mostListed = 1_000_000

	// Addition and nx1: the numbers up to 9, 90, 900, 9000 and 90000 (meant as all of one to
	// five digits), then some of six digits, then any.
	listedSix = 174_763

	// Parity: equally many strings of each length; the rest are one longer.
	listedBits = 18
	listedEach = Listed / listedBits
)

// hasLists reports whether operands come from these lists.
func (c *Config) hasLists() bool { return c.Released && c.Kind != "successor" }

// Highest is the largest operand with Below.
func (c *Config) Highest() int64 {
	switch {
	case !c.hasLists():
		return c.Below - 1
	case c.Kind == "parity":
		return 1<<(listedBits+1) - 1
	}
	return mostListed
}

// entry is number n of the list of an operand.
func (t *Task) entry(n int64, operand int) int64 {
	if !t.cfg.hasLists() {
		return n
	}
	src := philox.NewSource(t.seedOf(philox.Listed), philox.Listed, uint64(n), uint16(t.part<<8|operand))
	if t.kind.Name == "parity" {
		return int64(src.Uint32() >> (32 - (n/listedEach + 1)))
	}
	for last := int64(9); last <= 90_000; last *= 10 {
		if n <= last {
			return n
		}
		n -= last + 1
	}
	if n < listedSix {
		return 100_000 + int64(src.Intn(mostListed-100_000+1))
	}
	return 1 + int64(src.Intn(mostListed))
}

// factor draws the digit of nx1. The released code leaves out 0.
func (t *Task) factor(src *philox.Source) int64 {
	if t.cfg.hasLists() {
		return int64(1 + src.Intn(t.cfg.Base-1))
	}
	return int64(src.Intn(t.cfg.Base))
}
