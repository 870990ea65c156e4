package ptxsim

import (
	"math/bits"
	"slices"
)

// Counts are the requests that a launch's warps make to the parts of a GPU. README.md gives the
// model of each number. Caches are not modelled.
type Counts struct {
	// Instructions of warps, by class. An instruction counts if a lane of the warp executes it.
	Instructions map[Class]int64 `json:"instructions"`
	// Products are tensor core instructions, by name without the fixed modifiers, such as
	// mma.m16n8k16.f32.bf16.bf16.f32.
	Products map[string]int64 `json:"products"`
	// Accesses to global memory: loads, stores, atomic operations and the reads of cp.async.
	Loads   Traffic `json:"loads"`
	Stores  Traffic `json:"stores"`
	Atomics Traffic `json:"atomics"`
	Copies  Traffic `json:"copies"`
	// Fetched and Kept are bytes of global memory, each counted once: bytes read before the
	// launch wrote them, and bytes written.
	Fetched int64 `json:"fetched"`
	Kept    int64 `json:"kept"`
	// Accesses to shared memory; ldmatrix is a load and cp.async a store.
	SharedLoads   Banks `json:"sharedLoads"`
	SharedStores  Banks `json:"sharedStores"`
	SharedAtomics Banks `json:"sharedAtomics"`
	// Local counts accesses to local memory in the PTX.
	Local Traffic `json:"local"`
}

// Traffic counts accesses to global or local memory.
type Traffic struct {
	Requests int64 `json:"requests"` // instructions of warps
	Sectors  int64 `json:"sectors"`  // of 32 bytes, distinct within a request
	Bytes    int64 `json:"bytes"`    // requested by lanes
}

// Banks counts accesses to shared memory.
type Banks struct {
	Requests   int64 `json:"requests"`   // instructions of warps
	Wavefronts int64 `json:"wavefronts"` // rounds in which each bank serves one word
	Conflicts  int64 `json:"conflicts"`  // wavefronts in excess of the fewest possible for the same lanes
}

// Class is a kind of instruction.
type Class uint8

// The classes.
const (
	FP32 Class = iota
	FP16       // f16 and bf16, packed or not
	FP64
	Integer // arithmetic, logic and comparisons of integers and predicates
	Move    // moves, selections and conversions
	Special // transcendental functions, roots, and divisions of floats
	Memory
	Warp    // shuffles, votes and the like
	Barrier // barriers and fences
	Control // branches and exits
	Product // mma and wmma.mma
	classes
)

func (c Class) String() string {
	return [...]string{"fp32", "fp16", "fp64", "integer", "move", "special", "memory", "warp", "barrier", "control", "product"}[c]
}

// MarshalText returns the name, for keys of JSON.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Classes lists all classes.
func Classes() (all []Class) {
	for c := range classes {
		all = append(all, c)
	}
	return all
}

// Total returns the sum over all classes.
func (c *Counts) Total() (n int64) {
	for _, k := range c.Instructions {
		n += k
	}
	return n
}

// Global returns the traffic of global memory of all kinds.
func (c *Counts) Global() (t Traffic) {
	for _, part := range []Traffic{c.Loads, c.Stores, c.Atomics, c.Copies} {
		t.Requests += part.Requests
		t.Sectors += part.Sectors
		t.Bytes += part.Bytes
	}
	return t
}

// Shared returns the traffic of shared memory of all kinds.
func (c *Counts) Shared() (b Banks) {
	for _, part := range []Banks{c.SharedLoads, c.SharedStores, c.SharedAtomics} {
		b.Requests += part.Requests
		b.Wavefronts += part.Wavefronts
		b.Conflicts += part.Conflicts
	}
	return b
}

// span is the memory that one lane accesses.
type span struct {
	lane int
	at   uint64
	size int
}

// tally counts a running launch.
type tally struct {
	Counts
	classes [classes]int64
	touched map[*buffer]*touched
	spans   []span   // of the present access
	units   []uint64 // sectors or words of the present access
}

// touched marks the bytes of a buffer that count as fetched and as kept.
type touched struct{ fetched, kept bitmap }

func newTally() *tally {
	return &tally{Counts: Counts{Products: map[string]int64{}}, touched: map[*buffer]*touched{}}
}

// counts returns the sums at the end of a launch.
func (t *tally) counts() *Counts {
	c := t.Counts
	c.Instructions = map[Class]int64{}
	for class, n := range t.classes {
		if n > 0 {
			c.Instructions[Class(class)] = n
		}
	}
	for _, b := range t.touched {
		c.Fetched += b.fetched.count()
		c.Kept += b.kept.count()
	}
	return &c
}

func (b bitmap) count() (n int64) {
	for _, word := range b {
		n += int64(bits.OnesCount64(word))
	}
	return n
}

const (
	sectorBytes = 32
	bankBytes   = 4
	bankCount   = 32
	roundBytes  = bankCount * bankBytes // served by the banks in one round
)

// add counts one request of a warp.
func (t *Traffic) add(spans []span, units *[]uint64) {
	t.Requests++
	*units = (*units)[:0]
	for _, s := range spans {
		t.Bytes += int64(s.size)
		for u := s.at / sectorBytes; u <= (s.at+uint64(s.size)-1)/sectorBytes; u++ {
			*units = append(*units, u)
		}
	}
	slices.Sort(*units)
	t.Sectors += int64(len(slices.Compact(*units)))
}

// add counts one request of a warp. All spans have the same size and are in the order of the
// lanes. With merge, lanes that access the same word share it.
func (b *Banks) add(spans []span, merge bool, units *[]uint64) {
	b.Requests++
	together := min(max(roundBytes/spans[0].size, 1), 32) // lanes served at once
	for len(spans) > 0 {
		round, n := spans[0].lane/together, 1
		for n < len(spans) && spans[n].lane/together == round {
			n++
		}
		waves := wavefronts(spans[:n], merge, units)
		b.Wavefronts += waves
		b.Conflicts += waves - 1
		spans = spans[n:]
	}
}

// wavefronts returns the largest number of words that one bank has to serve.
func wavefronts(spans []span, merge bool, units *[]uint64) (most int64) {
	*units = (*units)[:0]
	for _, s := range spans {
		for u := s.at / bankBytes; u <= (s.at+uint64(s.size)-1)/bankBytes; u++ {
			*units = append(*units, u)
		}
	}
	words := *units
	if merge {
		slices.Sort(words)
		words = slices.Compact(words)
	}
	var load [bankCount]int64
	for _, w := range words {
		load[w%bankCount]++
		most = max(most, load[w%bankCount])
	}
	return most
}

// interleave returns the real places of accesses to local memory: words with the same offset lie
// next to each other for all lanes.
func interleave(spans []span) (out []span) {
	for _, s := range spans {
		for at := s.at; at < s.at+uint64(s.size); {
			n := min(bankBytes-int(at%bankBytes), int(s.at)+s.size-int(at))
			word := at/bankBytes*32 + uint64(s.lane)
			out = append(out, span{s.lane, word*bankBytes + at%bankBytes, n})
			at += uint64(n)
		}
	}
	return out
}
