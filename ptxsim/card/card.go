// Package card is a table of NVIDIA's cards: what fits on a multiprocessor, and how fast
// the whole can be at most. Before it are NVIDIA's documents; after it is package count,
// which says what work would ask of one that nobody has at hand.
//
// Nothing in the table is measured. What a card reaches is less.
package card

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Card is one of NVIDIA's GPUs.
type Card struct {
	Name string
	Arch
	SMs    int   // streaming multiprocessors
	Clock  int   // kHz at most, of the multiprocessors
	L2     int   // bytes
	Memory int64 // bytes

	// The peaks are FLOP/s: of fused multiply-adds in fp32, and of dense products on the
	// tensor cores, without sparsity.
	FP32, TF32, BF16 float64
	Bandwidth        float64 // of the memory, bytes/s

	Link   float64 // to the other cards of a machine, bytes/s in each direction
	NVLink bool    // it is NVLink, through switches; else PCIe
}

// With is the card with another number of multiprocessors, each as fast as before, and the
// same memory.
func (c Card) With(sms int) Card {
	part := float64(sms) / float64(c.SMs)
	c.SMs = sms
	c.FP32, c.TF32, c.BF16 = part*c.FP32, part*c.TF32, part*c.BF16
	return c
}

// An Arch is what all cards of a compute capability have in common.
type Arch struct {
	Major, Minor int
	Shared       int // bytes of shared memory of a multiprocessor
	Threads      int // resident on a multiprocessor
	Blocks       int // resident on a multiprocessor
}

// What all architectures of the table have in common: the same sources as archs.
const (
	MaxThreads    = 1024      // of a block
	Registers     = 1 << 16   // of a multiprocessor, 32 bits each
	DefaultShared = 48 << 10  // bytes that any block may take
	MaxGridX      = 1<<31 - 1 // blocks
	MaxGridYZ     = 1<<16 - 1 // blocks, in each of the two other directions
	Warp          = 32        // threads

	reserved      = 1 << 10 // bytes of shared memory of each block that are the driver's
	sharedUnit    = 128     // bytes in which a block gets shared memory
	registersUnit = 256     // registers in which a warp gets them
)

// What a launch takes at least, however little it does. They are assumptions, the same
// for every card, and rather too small than too large: a launch on a stream costs the
// processor some 2 to 3 µs, and kernels that do nothing follow each other within a graph
// some 1 to 1.5 µs apart. On a Tesla V100 NVIDIA found kernels of 2.9 µs to take 3.8 µs
// each on a stream and 3.4 µs in a graph (A. Gray, "Getting Started with CUDA Graphs",
// developer.nvidia.com/blog/cuda-graphs).
const (
	Launch = 2 * time.Microsecond // on a stream
	Node   = 1 * time.Microsecond // of a graph
)

// SharedOptIn is the bytes of shared memory that a block may ask for.
func (a Arch) SharedOptIn() int { return a.Shared - reserved }

// Resident is how many blocks of so many threads, with so many bytes of shared memory and
// registers of a thread, a multiprocessor holds at a time. 0 registers are not known and
// hold nobody back. A block that does not fit at all gives 0.
func (a Arch) Resident(threads, shared, registers int) int {
	warps := (threads + Warp - 1) / Warp
	n := min(a.Blocks, a.Threads/max(warps*Warp, 1))
	n = min(n, a.Shared/(roundUp(shared, sharedUnit)+reserved))
	if registers > 0 {
		n = min(n, Registers/(roundUp(registers*Warp, registersUnit)*warps))
	}
	return n
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Find finds a card by its name, or by a part of it that only one has: letters and digits
// count, in upper or lower case. Its error says what there is.
func Find(name string) (Card, error) {
	asked, found := plain(name), []Card(nil)
	for _, c := range All() {
		switch of := plain(c.Name); {
		case of == asked:
			return c, nil
		case asked != "" && strings.Contains(of, asked):
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Card{}, fmt.Errorf("no card is called %q: did you mean %s? There are %s", name, nearest(asked), names(All()))
	}
	return Card{}, fmt.Errorf("several cards are called %q: %s", name, names(found))
}

// plain is a name without what people write differently.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	for _, maker := range []string{"nvidia", "geforce"} {
		name = strings.ReplaceAll(name, maker, "")
	}
	return name
}

func names(cards []Card) string {
	var all []string
	for _, c := range cards {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}

// nearest is the card whose name takes the fewest changes.
func nearest(asked string) string {
	best := slices.MinFunc(All(), func(a, b Card) int { return distance(plain(a.Name), asked) - distance(plain(b.Name), asked) })
	return best.Name
}

// distance is the number of letters to add, drop or change (Levenshtein's).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := corner
			if a[i] != b[j] {
				changed++
			}
			corner = row[j+1]
			row[j+1] = min(changed, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}
