// Package count is a GPU that is not there: a Device that does nothing and writes
// everything down. It says what work asks of a card: launches, graphs, copies, waits and
// memory. Where it is known what a launch has to do, it also says no less than how long
// that takes.
//
// Packages ptx and card, before it, have the entries of a module and what a card allows;
// after it is whoever would otherwise drive a GPU. The Device refuses launches that a
// driver would refuse. Its memory holds nothing.
package count

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/ptxsim/card"
)

// A Device counts what it is asked for.
type Device struct {
	card       card.Card
	worthGraph int
	next       uint64
	memory     []allocation // ascending
	entries    []*Entry
	counts     Counts
	run        int    // launches since the last wait
	recording  *Graph // nil: nothing is recorded
}

type allocation struct {
	at    uint64
	bytes int64
}

const (
	firstAddress = 1 << 40
	align        = 256 // bytes, of an allocation
)

// New makes a device that plays a card. So many launches in a row would be worth a graph.
func New(c card.Card, worthGraph int) *Device {
	return &Device{card: c, worthGraph: worthGraph, next: firstAddress}
}

// Card is what the device plays.
func (d *Device) Card() *card.Card { return &d.card }

// A MemoryError says that there is too little memory.
type MemoryError struct{ Asked, Free, Total int64 } // bytes

func (e *MemoryError) Error() string {
	return fmt.Sprintf("out of memory: asked for %d bytes, %d of %d are free", e.Asked, e.Free, e.Total)
}

// Alloc reserves memory and returns its address, a multiple of 256. Where there is too
// little its error is a *MemoryError.
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

// Free gives back what Alloc gave.
func (d *Device) Free(p uint64) error {
	i := slices.IndexFunc(d.memory, func(a allocation) bool { return a.at == p })
	if i < 0 {
		return fmt.Errorf("%#x is not allocated", p)
	}
	d.counts.Memory -= d.memory[i].bytes
	d.memory = slices.Delete(d.memory, i, i+1)
	return nil
}

// Left is how many bytes may still be allocated.
func (d *Device) Left() int64 { return d.card.Memory - d.counts.Memory }

// Pin counts pinned memory of the host, and with a negative number memory that is given back.
func (d *Device) Pin(bytes int64) {
	d.counts.Pinned += bytes
	d.counts.MostPinned = max(d.counts.MostPinned, d.counts.Pinned)
}

// Move counts a copy of a kind, at addresses of the device. It is part of a graph while one is
// recorded.
func (d *Device) Move(k Copy, bytes int64, at ...uint64) error {
	for _, p := range at {
		if !d.holds(p, bytes) {
			return fmt.Errorf("%d bytes at %#x are not allocated", bytes, p)
		}
	}
	d.into().move(k, bytes)
	return nil
}

// holds says whether a range of device memory was allocated.
func (d *Device) holds(p uint64, bytes int64) bool {
	return slices.ContainsFunc(d.memory, func(a allocation) bool {
		return p >= a.at && bytes >= 0 && p-a.at+uint64(bytes) <= uint64(a.bytes)
	})
}

// into is where work is counted that is asked for now.
func (d *Device) into() *work {
	if d.recording != nil {
		return &d.recording.work
	}
	return &d.counts.work
}

// Wait waits for everything.
func (d *Device) Wait() {
	d.counts.Waits++
	d.Mark()
}

// Mark ends a stretch of launches, as an event does.
func (d *Device) Mark() {
	if d.run >= d.worthGraph {
		d.counts.Misses++
	}
	d.run = 0
}

// WaitBehind waits for a mark, behind which there may be more to do.
func (d *Device) WaitBehind() { d.counts.Behind++ }

// A Graph is the work that was recorded: copies, already added up, and launches, which may
// have other work to do each time.
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

// Record makes a graph of what f asks for, unless that fails.
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

// Recording says whether a graph is recorded.
func (d *Device) Recording() bool { return d.recording != nil }

// Launch counts all that was recorded.
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

// Close ends the graph.
func (g *Graph) Close() { g.d.counts.Graphs-- }
