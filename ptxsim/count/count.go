// Package count is a GPU that executes nothing: its Device writes down all launches, graphs,
// copies, waits and memory that a program asks of a card. If the cost of a launch is known, it
// also computes a lower bound on its time.
//
// The package uses ptx for the entries of a module and card for a card's limits. A Device takes
// the driver's place and refuses launches that a driver would refuse. Its memory holds no data.
package count

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/ptxsim/card"
)

// A Device counts every request.
type Device struct {
	card       card.Card
	worthGraph int
	next       uint64
	memory     []allocation // ascending
	entries    []*Entry
	counts     Counts
	run        int    // launches since the last wait
	recording  *Graph // the graph being recorded, or nil
}

type allocation struct {
	at    uint64
	bytes int64
}

const (
	firstAddress = 1 << 40
	align        = 256 // bytes, of an allocation
)

// New returns a device with the limits of a card. A graph would pay for a run of worthGraph
// launches.
func New(c card.Card, worthGraph int) *Device {
	return &Device{card: c, worthGraph: worthGraph, next: firstAddress}
}

// Card returns the device's card.
func (d *Device) Card() *card.Card { return &d.card }

// A MemoryError reports too little memory.
type MemoryError struct{ Asked, Free, Total int64 } // bytes

func (e *MemoryError) Error() string {
	return fmt.Sprintf("out of memory: asked for %d bytes, %d of %d are free", e.Asked, e.Free, e.Total)
}

// Alloc reserves memory and returns its address, a multiple of 256. If too little memory is left,
// the error is a *MemoryError.
func (d *Device) Alloc(bytes int64) (uint64, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("an allocation of %d bytes", bytes)
	}
	if free := d.Left(); bytes > free {
		return 0, &MemoryError{bytes, free, d.card.Memory}
	}
	p := d.next
	d.memory = append(d.memory, allocation{p, bytes})
	d.next += uint64((bytes + 2*align - 1) / align * align) // a gap between two
	d.counts.Memory += bytes
	d.counts.MostMemory = max(d.counts.MostMemory, d.counts.Memory)
	return p, nil
}

// Free releases an allocation.
func (d *Device) Free(p uint64) error {
	i := slices.IndexFunc(d.memory, func(a allocation) bool { return a.at == p })
	if i < 0 {
		return fmt.Errorf("%#x is not allocated", p)
	}
	d.counts.Memory -= d.memory[i].bytes
	d.memory = slices.Delete(d.memory, i, i+1)
	return nil
}

// Left returns how many bytes may still be allocated.
func (d *Device) Left() int64 { return d.card.Memory - d.counts.Memory }

// Pin counts bytes of pinned host memory. A negative number counts memory that is released.
func (d *Device) Pin(bytes int64) {
	d.counts.Pinned += bytes
	d.counts.MostPinned = max(d.counts.MostPinned, d.counts.Pinned)
}

// Move counts a copy of a kind, at addresses of the device. While a graph is recorded, the copy
// becomes part of it.
func (d *Device) Move(k Copy, bytes int64, at ...uint64) error {
	for _, p := range at {
		if !d.holds(p, bytes) {
			return fmt.Errorf("%d bytes at %#x are not allocated", bytes, p)
		}
	}
	d.into().move(k, bytes)
	return nil
}

// holds reports whether a range of device memory is allocated.
func (d *Device) holds(p uint64, bytes int64) bool {
	return slices.ContainsFunc(d.memory, func(a allocation) bool {
		return p >= a.at && bytes >= 0 && p-a.at+uint64(bytes) <= uint64(a.bytes)
	})
}

// into returns the work that counts requests now: the recorded graph's or the device's.
func (d *Device) into() *work {
	if d.recording != nil {
		return &d.recording.work
	}
	return &d.counts.work
}

// Wait counts a wait for all work.
func (d *Device) Wait() {
	d.counts.Waits++
	d.Mark()
}

// Mark ends a run of launches, as an event does.
func (d *Device) Mark() {
	if d.run >= d.worthGraph {
		d.counts.Misses++
	}
	d.run = 0
}

// WaitBehind counts a wait for a mark. Work queued after the mark may continue.
func (d *Device) WaitBehind() { d.counts.Behind++ }

// A Graph is recorded work: copies, already added up, and launches, whose costs may differ at
// each replay.
type Graph struct {
	d     *Device
	work  work
	nodes []node
}

// A node is a launch of a graph.
type node struct {
	entry  *Entry
	launch launch
	grid   [3]int
	args   []byte
}

// Record returns a graph of the requests that f makes. If f fails, there is no graph.
func (d *Device) Record(f func() error) (*Graph, error) {
	if d.recording != nil {
		return nil, fmt.Errorf("a graph is being recorded")
	}
	g := &Graph{d: d}
	d.recording = g
	err := f()
	d.recording = nil
	if err != nil {
		return nil, err
	}
	d.counts.Captures++
	d.counts.Graphs++
	d.counts.MostGraphs = max(d.counts.MostGraphs, d.counts.Graphs)
	return g, nil
}

// Recording reports whether a graph is being recorded.
func (d *Device) Recording() bool { return d.recording != nil }

// Launch counts everything in the graph.
func (g *Graph) Launch() error {
	g.d.counts.Replays++
	g.d.counts.add(&g.work)
	for _, n := range g.nodes {
		if err := n.entry.count(n.launch, n.grid, n.args); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the graph.
func (g *Graph) Close() { g.d.counts.Graphs-- }
