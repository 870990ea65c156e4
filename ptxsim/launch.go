package ptxsim

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Launch is a request to run a kernel.
type Launch struct {
	Grid, Block [3]int
	Shared      int    // bytes of dynamic shared memory
	Args        []byte // the parameter block
}

// Stats describes a finished launch.
type Stats struct {
	Steps    int64 // lane instructions
	Bytes    int64 // read from and written to global memory
	Barriers int64 // completed
	Blocks   int
	Counts   *Counts       // nil without Options.Count
	Reached  map[int]Reach // by line; nil without Options.Reach
	// Warnings are about suspicious but possibly intended code: the first warning of each
	// instruction.
	Warnings []*Report
}

// launch is a running launch.
type launch struct {
	d          *Device
	k          *Kernel
	grid       [3]int
	dims       [3]int
	threads    int
	blocks     int
	sharedSize int
	dynamic    int
	params     *buffer
	locked     bool // several workers share global memory
	flags      flags
	writes     atomic.Uint64
	steps      atomic.Int64
	bytes      atomic.Int64
	barriers   atomic.Int64
	tally      *tally  // nil without Options.Count
	reach      []reach // by instruction; nil without Options.Reach

	mu     sync.Mutex // guards the fields below
	wake   sync.Cond
	next   int      // in order
	order  []int    // of the blocks; nil: by number
	parked []*block // started blocks that are not running
	busy   int
	err    error
	// warnings holds the first warning of each instruction.
	warnings []*Report
}

// sharedLimit is the shared memory that a block may have, by architecture.
var sharedLimit = map[int]int{80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}

const (
	localLimit = 512 << 10 // bytes per thread
	constLimit = 64 << 10  // bytes per module
	blockLimit = 1 << 26
)

// Launch runs a kernel to its end. If the kernel is wrong, the error is a *Report.
func (k *Kernel) Launch(l Launch) (Stats, error) {
	run, err := k.prepare(l)
	if err != nil {
		return Stats{}, err
	}
	d := k.m.d
	d.launches++
	if d.table.advance() {
		d.global.clearShadows()
	}
	run.shuffle()
	var wg sync.WaitGroup
	for range min(d.opt.Workers, run.blocks) {
		wg.Go(run.work)
	}
	wg.Wait()
	s := Stats{
		Steps: run.steps.Load(), Bytes: run.bytes.Load(), Barriers: run.barriers.Load(), Blocks: run.blocks, Warnings: run.warnings,
	}
	if run.tally != nil {
		s.Counts = run.tally.counts()
	}
	if run.reach != nil {
		s.Reached = map[int]Reach{}
		for pc, r := range run.reach {
			s.Reached[k.code[pc].line()] = s.Reached[k.code[pc].line()].with(r)
		}
	}
	return s, run.err
}

func (k *Kernel) prepare(l Launch) (*launch, error) {
	fail := func(format string, args ...any) (*launch, error) {
		return nil, &Report{Kind: BadLaunch, Kernel: k.src.Name, Detail: fmt.Sprintf(format, args...)}
	}
	limits := [2][3]int{{1<<31 - 1, 65535, 65535}, {1024, 1024, 64}}
	for i, dims := range [2][3]int{l.Grid, l.Block} {
		for j, n := range dims {
			if n < 1 || n > limits[i][j] {
				return fail("%s %v: %d is not between 1 and %d", [2]string{"grid", "block"}[i], dims, n, limits[i][j])
			}
		}
	}
	threads := l.Block[0] * l.Block[1] * l.Block[2]
	most := 1024
	if m := k.src.MaxThreads; m[0] > 0 {
		most = min(most, max(m[0], 1)*max(m[1], 1)*max(m[2], 1))
	}
	if threads > most {
		return fail("%d threads per block, at most %d are allowed", threads, most)
	}
	if r := k.src.RequiredThreads; r[0] > 0 && l.Block != [3]int{r[0], max(r[1], 1), max(r[2], 1)} {
		return fail("block %v, but the kernel is made for %v", l.Block, r)
	}
	if int64(len(l.Args)) != k.src.ParamSize {
		return fail("%d bytes of parameters, the kernel has %d", len(l.Args), k.src.ParamSize)
	}
	size := int(k.src.StaticSize)
	if l.Shared > 0 {
		size = max(size, int(k.src.DynamicOffset)) + l.Shared
	}
	if most := sharedLimit[k.m.d.opt.Arch]; l.Shared < 0 || size > most {
		return fail("%d bytes of shared memory, at most %d are allowed", size, most)
	}
	if k.src.LocalSize > localLimit {
		return fail("%d bytes of local memory per thread, at most %d are allowed", k.src.LocalSize, localLimit)
	}
	blocks := int64(l.Grid[0]) * int64(l.Grid[1])
	if blocks > blockLimit || blocks*int64(l.Grid[2]) > blockLimit {
		return fail("grid %v: the simulator runs at most %d blocks", l.Grid, blockLimit)
	}
	run := &launch{
		d: k.m.d, k: k, grid: l.Grid, dims: l.Block, threads: threads, blocks: l.Grid[0] * l.Grid[1] * l.Grid[2],
		sharedSize: size, dynamic: l.Shared, locked: k.m.d.opt.Workers > 1, flags: flags{},
		params: &buffer{name: "the parameters", data: l.Args, readOnly: true},
	}
	run.wake.L = &run.mu
	if k.m.d.opt.Count {
		run.tally = newTally()
	}
	if k.m.d.opt.Reach {
		run.reach = make([]reach, len(k.code))
	}
	return run, nil
}

// shuffle sets the order of blocks.
func (l *launch) shuffle() {
	switch l.d.opt.Order {
	case Random:
		l.order = l.d.random(0).Perm(l.blocks)
	case Reversed:
		l.order = make([]int, l.blocks)
		for i := range l.order {
			l.order[i] = l.blocks - 1 - i
		}
	}
}

const (
	stint    = 1 << 20 // instructions of warps after which the worker considers other blocks
	loyalty  = 64      // stints after which a block gives way to one that has not begun
	resident = 512     // the most blocks in progress
)

// work runs blocks until all are done. It puts a block aside that must wait for another one. If
// all blocks wait, memory will never change.
func (l *launch) work() {
	var free *block
	for {
		b, fresh := l.take(&free)
		if b == nil {
			if free != nil {
				for _, w := range free.warps {
					l.k.spare.Put(&w.cols)
				}
			}
			return
		}
		if fresh >= 0 {
			b.reset(fresh)
		}
		st, err := b.run(stint)
		if l.give(b, st, err) {
			free = b
		}
	}
}

// take returns a block to run, and its number if it has not begun.
func (l *launch) take(free **block) (*block, int) {
	for {
		l.mu.Lock()
		if l.err != nil {
			l.mu.Unlock()
			return nil, 0
		}
		if b := l.resume(func(b *block) bool { return b.stints%loyalty != 0 }); b != nil {
			return b, -1
		}
		if l.next < l.blocks && len(l.parked)+l.busy < resident {
			id := l.next
			if l.order != nil {
				id = l.order[id]
			}
			l.next++
			l.busy++
			l.mu.Unlock()
			b := *free
			if *free = nil; b == nil {
				b = newBlock(l)
			}
			return b, id
		}
		if b := l.resume(func(*block) bool { return true }); b != nil {
			return b, -1
		}
		if l.busy == 0 {
			if len(l.parked) > 0 {
				l.err = l.parked[0].spinning()
			}
			l.mu.Unlock()
			return nil, 0
		}
		if len(l.parked) == 0 {
			l.mu.Unlock()
			return nil, 0
		}
		l.wake.Wait()
		l.mu.Unlock()
	}
}

// resume returns a block that was put aside and can continue, with l.mu unlocked, or nil.
func (l *launch) resume(want func(*block) bool) *block {
	for i, b := range l.parked {
		if want(b) && b.ready() {
			l.parked = append(l.parked[:i:i], l.parked[i+1:]...)
			l.busy++
			l.mu.Unlock()
			return b
		}
	}
	return nil
}

// give takes a block back after a stint and reports whether it can be reused.
func (l *launch) give(b *block, st status, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	b.stints++
	for pc, r := range b.reach {
		l.reach[pc] |= r
	}
	l.wake.Broadcast()
	if err != nil && l.err == nil {
		l.err = err
	}
	if st != finished {
		l.parked = append(l.parked, b)
	}
	return st == finished
}

// ready reports whether a parked block has something to run.
func (b *block) ready() bool {
	return slices.ContainsFunc(b.warps, (*warp).runnable)
}

// spend adds a warp's new steps and reports whether the launch exceeds its limit.
func (l *launch) spend(w *warp) bool {
	if w.bytes != 0 {
		l.bytes.Add(w.bytes)
	}
	total := l.steps.Add(w.steps)
	w.steps, w.bytes = 0, 0
	return total > l.d.opt.MaxSteps
}
