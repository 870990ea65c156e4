package cuda

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// Options of a Machine.
type Options struct {
	About device.About
	// Blocking waits after every launch, so that an error names its kernel. CUDA_LAUNCH_BLOCKING=1
	// sets it.
	Blocking bool
	// Multiplier computes products until Machine.Multiply changes this; nil: kernels do.
	Multiplier Multiplier
	// Ranks are the processes that train together. A Sum adds up the gradients of all. nil: this
	// process alone.
	Ranks Collective
}

// A Machine implements device.Machine on a GPU.
type Machine struct {
	dev     *Device
	info    Info
	options Options
	kernels []*kernel // the model's
	moves   moves     // the Machine's own
	params  int
	uses    int
	rounds  bool // parameters are also kept rounded

	common   memory // the spaces that are Shared
	sums     memory // of Root; the chunks of a Sum have consecutive Grads, and the first become their sum
	own      memory // of piece: the replicas of a Sum
	received region // gradients that other ranks send for a Sum
	root     *worker
	piece    *worker

	current *launchList // being recorded
	by      *worker
	pending []group       // recorded, in order
	lists   []*launchList // of the Sum that is being recorded
	spare   []*launchList
	summing bool // Sum's f is running: nothing may be submitted
	later   bool // Later's work is running: nothing is waited for

	in, out stage
	turns   [maxTurns]turn // submissions, each with host memory for its transfers
	turn    int            // number of the next
	control region         // step scalars that Settle wrote
	scratch region
	list    commandList
	buffers []abi.Buffer // of the launch being packed
	graphs  graphs
	watch   *Watch // nil: the clock is not read
	calls   Calls
	err     error

	multiplies bool // the Multiplier computes the products that it can
}

// Tensor reports whether a kernel, by its number, multiplies on tensor cores.
func (m *Machine) Tensor(kernel int) bool { return m.kernels[kernel].Tensor }

// NewMachine returns a Machine for a program, with the arenas of its plan.
func NewMachine(d *Device, p Program, plan *device.Plan, o Options) (*Machine, error) {
	m := &Machine{dev: d, info: d.Info(), options: o, params: plan.NumParams, uses: plan.NumUses, rounds: plan.Rounds, graphs: graphs{seed: maphash.MakeSeed(), most: MaxGraphs}, multiplies: o.Multiplier != nil}
	m.root, m.piece = newWorker(m, &m.sums), newWorker(m, &m.own)
	var err error
	if m.kernels, err = d.kernels(p); err != nil {
		return nil, fmt.Errorf("the model's kernels cannot be loaded on %s: %w", m.info.Name, err)
	}
	if m.moves, err = d.moves(); err != nil {
		return nil, fmt.Errorf("the runtime's kernels cannot be loaded on %s: %w", m.info.Name, err)
	}
	arenas := []*region{&m.common.spaces[device.Params], &m.sums.spaces[device.Grads]}
	for i := range plan.States {
		arenas = append(arenas, &m.common.spaces[device.State:][i])
	}
	for _, arena := range arenas {
		if err == nil {
			_, err = arena.fit(d, stride(max(m.params, 1)))
		}
	}
	if m.rounds && err == nil {
		_, err = m.common.spaces[device.Rounded].fit(d, stride((m.params+1)/2))
	}
	if err != nil {
		return nil, tooLarge(err, fmt.Sprintf("the arenas of %d parameters", m.params),
			"end other programs on the GPU, train a smaller model, or use --device cpu")
	}
	if _, err := m.control.fit(d, abi.StepWords*wordBytes); err != nil {
		return nil, tooLarge(err, "the scalars of a step", "end other programs on the GPU, or use --device cpu")
	}
	return m, nil
}

// About names the device.
func (m *Machine) About() device.About { return m.options.About }

// Driver returns the Machine's Driver. Call Err, which waits, before using it.
func (m *Machine) Driver() Driver { return m.dev.Driver }

// Root returns the worker with the gradients of Sum.
func (m *Machine) Root() device.Worker { return m.root }

// Err waits for all recorded work and returns the Machine's first error. After an error the
// Machine does no more work and leaves results as they are.
func (m *Machine) Err() error {
	m.flush()
	return m.err
}

// Close closes the Machine's Ranks, its Multiplier and its Driver, and frees all their memory.
func (m *Machine) Close() error {
	var ranks, products error
	if m.options.Ranks != nil {
		ranks = m.options.Ranks.Close()
	}
	if m.options.Multiplier != nil {
		products = m.options.Multiplier.Close()
	}
	return errors.Join(ranks, products, m.dev.Close())
}

func (m *Machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// Each calls f for i = 0 … n-1, in order.
func (m *Machine) Each(n int, f func(w device.Worker, i int)) {
	for i := range n {
		f(m.piece, i)
	}
	m.flush() // so that the memory of pieces is free
}

// Ranges calls f for all of 0 … n-1.
func (m *Machine) Ranges(n int, f func(w device.Worker, lo, hi int)) { f(m.root, 0, n) }

// Settle computes the gradient's factor on the device. Launches that have e read it there.
func (m *Machine) Settle(e *device.Env, limit float64, after bool) {
	if limit <= 0 {
		limit = math.Inf(1)
	}
	m.listOf(m.root).settle(e, device.Ref{Space: device.Work}, limit, after)
	e.Settled = true
}

// Sum records all pieces of work and adds up their gradients. Consecutive pieces run together, as
// many as memory allows, if they differ only in their data or if their kernels take shapes. Each
// piece has its own place for gradients. With several ranks, each rank calls f only for its
// chunks, and Root's Grads become the sum of all.
func (m *Machine) Sum(n int, f func(w device.Worker, i int)) {
	if n == 0 {
		m.root.Zero(device.Ref{Space: device.Grads}, m.params)
	}
	m.close()
	m.lists = m.lists[:0]
	m.summing = true
	lo, hi := m.deal(n)
	work, ints := 0, 0
	for i := lo; i < hi; i++ {
		m.open(m.piece)
		f(m.piece, i)
		work, ints = max(work, m.current.work), max(ints, m.current.ints)
		m.lists = append(m.lists, m.current)
		m.current = nil
	}
	m.summing = false
	if m.err == nil {
		m.fail(m.places(hi - lo))
	}
	m.cut(m.lists, work, ints)
	m.total(n, lo, hi)
	m.got()
}

// cut splits launch lists into groups of replicas.
func (m *Machine) cut(lists []*launchList, work, ints int) {
	longest := 1
	for lo := 0; lo < len(lists); {
		n := together(lists[lo:])
		longest, lo = max(longest, n), lo+n
	}
	most := 1
	if m.err == nil {
		var err error
		most, err = m.replicas(longest, work, ints)
		m.fail(err)
	}
	for lo := 0; lo < len(lists); {
		n := min(together(lists[lo:]), max(most, 1))
		g := group{lists: lists[lo : lo+n], mem: &m.own, sum: true, chunk: lo}
		if n > 1 {
			g.strides = [device.NumSpaces]int64{device.Grads: stride(m.params), device.Uses: stride(m.uses), device.Work: stride(work), device.Ints: stride(ints)}
		}
		g.merge(hashWith(m.graphs.seed))
		m.pending = append(m.pending, g)
		lo += n
	}
}

// together returns how many of the first launch lists can be a group. Lists whose kernels take
// shapes may also differ in their ops.
func together(lists []*launchList) int {
	if len(lists[0].shapes) > 0 {
		return min(len(lists), maxForms)
	}
	return alike(lists)
}

// alike returns how many of the first launch lists are replicas of each other.
func alike(lists []*launchList) int {
	n := 1
	for n < len(lists) && lists[n].replica(lists[0], uint32(n)*lists[1].further(lists[0])) {
		n++
	}
	return n
}

// listOf returns the launch list for a worker's next op. Ops run in the order in which workers ask
// for them.
func (m *Machine) listOf(w *worker) *launchList {
	if m.current == nil || m.by != w {
		if m.summing {
			panic("BUG: a piece of a sum uses another worker than its own")
		}
		m.close()
		m.open(w)
	}
	return m.current
}

// open begins a launch list.
func (m *Machine) open(w *worker) {
	m.by, m.current = w, new(launchList)
	if last := len(m.spare) - 1; last >= 0 {
		m.current, m.spare = m.spare[last], m.spare[:last]
		m.current.reset()
	}
}

// close ends the launch list being recorded, if any.
func (m *Machine) close() {
	if m.current != nil {
		m.pending = append(m.pending, group{lists: []*launchList{m.current}, mem: m.by.mem})
		m.current = nil
	}
}

// got runs the recorded work, since a result is wanted, unless Sum or Later is recording.
func (m *Machine) got() {
	if !m.summing && !m.later {
		m.flush()
	}
}
