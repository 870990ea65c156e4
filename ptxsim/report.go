package ptxsim

import (
	"fmt"
	"math/bits"
	"strings"
)

// Kind is the subject of a report.
type Kind string

// The kinds.
const (
	Race             Kind = "data race"
	OutOfBounds      Kind = "out of bounds"
	Misaligned       Kind = "misaligned"
	Uninitialised    Kind = "uninitialised memory"
	UndefinedReg     Kind = "undefined register"
	ReadOnly         Kind = "write to read-only memory"
	DivergentBarrier Kind = "divergent barrier"
	DivergentWarp    Kind = "divergent warp instruction"
	BadBarrier       Kind = "bad barrier"
	Deadlock         Kind = "deadlock"
	Spin             Kind = "endless wait"
	StepLimit        Kind = "step limit"
	Trap             Kind = "trap"
	DivideByZero     Kind = "division by zero"
	InactiveLane     Kind = "inactive source lane"
	PendingCopy      Kind = "pending copy"       // a warning: nobody waited for the copy
	Unordered        Kind = "unordered accesses" // a warning: volatile or relaxed ones
	BadLaunch        Kind = "bad launch"
)

// Report describes a mistake in a launch, and its place.
type Report struct {
	Kind   Kind
	Kernel string
	Line   int    // of the PTX text; 0 if no instruction is to blame
	Source string // file:line of the source, where .loc gives it
	Op     string
	Block  [3]int
	Warp   int
	Lanes  uint32
	Space  string // of Addr; "" without an address
	Addr   uint64
	Detail string
	Other  *Party // the other side of a race
}

// Party is the other side of a race.
type Party struct {
	Line  int
	Block [3]int
	Warp  int
	Lane  int // -1: several
	Verb  string
}

func (r *Report) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: kernel %s", r.Kind, r.Kernel)
	if r.Line > 0 {
		fmt.Fprintf(&s, ", line %d", r.Line)
	}
	if r.Source != "" {
		fmt.Fprintf(&s, " (%s)", r.Source)
	}
	if r.Op != "" {
		fmt.Fprintf(&s, ", %s", r.Op)
	}
	if r.Lanes != 0 {
		fmt.Fprintf(&s, ", block (%d,%d,%d), warp %d, %s", r.Block[0], r.Block[1], r.Block[2], r.Warp, lanes(r.Lanes))
	}
	if r.Space != "" {
		fmt.Fprintf(&s, ", %s address %#x", r.Space, r.Addr)
	}
	if r.Detail != "" {
		fmt.Fprintf(&s, ": %s", r.Detail)
	}
	if o := r.Other; o != nil {
		lane := fmt.Sprintf("lane %d", o.Lane)
		if o.Lane < 0 {
			lane = "several lanes"
		}
		fmt.Fprintf(&s, "; unordered with the %s of line %d, block (%d,%d,%d), warp %d, %s",
			o.Verb, o.Line, o.Block[0], o.Block[1], o.Block[2], o.Warp, lane)
	}
	return s.String()
}

// lanes writes a mask as numbers and ranges.
func lanes(mask uint32) string {
	if bits.OnesCount32(mask) == 1 {
		return fmt.Sprintf("lane %d", bits.TrailingZeros32(mask))
	}
	var parts []string
	for i := 0; i < 32; {
		n := bits.TrailingZeros32(^(mask >> i))
		switch {
		case n == 1:
			parts = append(parts, fmt.Sprint(i))
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d-%d", i, i+n-1))
		}
		i += n + 1
	}
	return "lanes " + strings.Join(parts, ",")
}
