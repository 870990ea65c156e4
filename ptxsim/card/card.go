// Package card is a table of NVIDIA's cards: the limits of a multiprocessor, and the peak speeds
// of the card. The numbers come from NVIDIA's documents. Package count uses the table to say what
// a program would ask of a card that nobody has at hand.
//
// Nothing in the table is measured. Real kernels stay below these peaks.
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
	Clock  int   // kHz, the highest clock of the multiprocessors
	L2     int   // bytes
	Memory int64 // bytes

	// The peaks are FLOP/s: of fused multiply-adds in fp32, and of dense products on the tensor
	// cores, without sparsity.
	FP32, TF32, BF16 float64
	Bandwidth        float64 // bytes/s, of the memory

	Link   float64 // bytes/s in each direction, to the other cards of a machine
	NVLink bool    // the link is NVLink, through switches; else PCIe
}

// With returns the card with sms multiprocessors. Each is as fast as before; the memory stays the
// same.
func (c Card) With(sms int) Card {
	part := float64(sms) / float64(c.SMs)
	c.SMs = sms
	c.FP32, c.TF32, c.BF16 = part*c.FP32, part*c.TF32, part*c.BF16
	return c
}

// An Arch holds the limits that all cards of a compute capability share.
type Arch struct {
	Major, Minor int
	Shared       int // bytes of shared memory of a multiprocessor
	Threads      int // resident on a multiprocessor
	Blocks       int // resident on a multiprocessor
}

// These limits hold for all architectures of the table. The sources are the same as for archs.
const (
	MaxThreads    = 1024      // in a block
	Registers     = 1 << 16   // in a multiprocessor, 32 bits each
	DefaultShared = 48 << 10  // bytes that any block may take
	MaxGridX      = 1<<31 - 1 // blocks
	MaxGridYZ     = 1<<16 - 1 // blocks, in each of the two other directions
	Warp          = 32        // threads

	reserved      = 1 << 10 // bytes of shared memory that the driver takes in each block
	sharedUnit    = 128     // bytes; shared memory of a block is a multiple of it
	registersUnit = 256     // registers of a warp are a multiple of it
)

// Launch and Node are the least time that a launch takes, however little it does. They are
// assumptions, the same for every card, and rather too small than too large. A launch on a stream
// costs the processor 2 to 3 µs; empty kernels within a graph follow each other every 1 to 1.5
// µs. On a Tesla V100, NVIDIA measured that kernels of 2.9 µs take 3.8 µs each on a stream and
// 3.4 µs in a graph (A. Gray, "Getting Started with CUDA Graphs",
// developer.nvidia.com/blog/cuda-graphs).
const (
	Launch = 2 * time.Microsecond // on a stream
	Node   = 1 * time.Microsecond // in a graph
)

// SharedOptIn returns how many bytes of shared memory a block may ask for.
func (a Arch) SharedOptIn() int { return a.Shared - reserved }

// Resident returns how many blocks a multiprocessor holds at a time, given a block's threads and
// bytes of shared memory and a thread's registers. With registers = 0 (unknown), registers do not
// limit the number. The result is 0 if a single block does not fit.
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

// Find returns the card with this name, or with a name that contains it if there is only one. It
// compares only letters and digits, in upper or lower case. Its error lists the names.
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
		return Card{}, fmt.Errorf("no card is called %q: did you mean %s? Known cards: %s", name, nearest(asked), names(All()))
	}
	return Card{}, fmt.Errorf("several cards are called %q: %s", name, names(found))
}

// plain returns a name without the differences between people's spellings.
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

// nearest returns the card whose name takes the fewest changes.
func nearest(asked string) string {
	best := slices.MinFunc(All(), func(a, b Card) int { return distance(plain(a.Name), asked) - distance(plain(b.Name), asked) })
	return best.Name
}

// distance returns how many letters to add, drop or change (Levenshtein distance).
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
