package cuda

import (
	_ "embed"
	"encoding/binary"
	"time"
)

// Laps are a device's times by kind of work, by its own clock. A lap is the time between two
// consecutive marks. So laps are never negative, and they add up to the time from the first mark
// to the last.
type Laps struct {
	Kernels          []Lap // by kernel number
	Copy, Clear, Add Lap   // the Machine's own kernels
	Settle           Lap   // the kernel that computes the gradient's factor, also the Machine's own
	Transfers        Lap   // copies from and to the host
	Ranks            Lap   // gradients on their way between ranks
	Whole            Lap   // a whole submission, if launches have no marks
	Idle             Lap   // the device waited for the host
}

// A Lap adds up laps of one kind.
type Lap struct {
	Times int
	Time  time.Duration
}

// Total is the time of all laps.
func (l *Laps) Total() time.Duration {
	sum := l.Copy.Time + l.Clear.Time + l.Add.Time + l.Settle.Time + l.Transfers.Time + l.Ranks.Time + l.Whole.Time + l.Idle.Time
	for _, k := range l.Kernels {
		sum += k.Time
	}
	return sum
}

// Calls are counts of launches.
type Calls struct {
	Kernels int // launches of kernels on the device, those in graphs included
	Driver  int // launches by the driver; a graph counts once
}

// Calls returns the counts since the Machine was made.
func (m *Machine) Calls() Calls { return m.calls }

// A Watch reads a device's clock while a Machine works. It puts marks into the stream and reads
// many of them together later, so that no launch waits for another.
type Watch struct {
	m      *Machine
	each   bool
	events [maxMarks]Event
	of     [maxMarks]*Lap // counts the lap before a mark; nil: nothing does, the Watch itself caused it
	used   int
	laps   Laps
	note   func(kernel int, took time.Duration, other string)

	holder Function      // nil: the device is not held
	pace   time.Duration // the host's time for a launch and a mark, the slowest so far
	began  time.Time     // when the host began to queue the work that waits for holder
	held   int           // marks to queue meanwhile
}

const (
	maxMarks = 256 // fewer than a stream takes before the host blocks
	spare    = 8   // more marks than are put without a check for room
	margin   = 2   // times the pace

	firstPace   = 5 * time.Microsecond
	slowestPace = 50 * time.Microsecond // one interruption does not make a host this slow for long
)

// Watch starts to read the device's clock. If each is set, a mark follows every launch, and graphs
// are not used. The host may queue launches more slowly than the device runs them. So a kernel
// holds the device until the next launches are queued, and laps show the device's pace. Each lap
// includes the cost of a mark. Otherwise marks only surround whole submissions, at almost no cost.
//
// Close ends a Watch. Only one may be open at a time.
func (m *Machine) Watch(each bool) (*Watch, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	w := &Watch{m: m, each: each, laps: Laps{Kernels: make([]Lap, len(m.kernels))}, pace: firstPace}
	if err := w.open(); err != nil {
		w.Close() // on a lost device this error is known already
		return nil, err
	}
	m.watch = w
	return w, nil
}

//go:embed hold.ptx
var holdPTX string

func (w *Watch) open() error {
	for i := range w.events {
		var err error
		if w.events[i], err = w.m.dev.NewEvent(); err != nil {
			return err
		}
	}
	if w.each && w.m.info.Clock > 0 { // the simulator starts work only when the host waits
		module, err := w.m.dev.Load(holdPTX)
		if err != nil {
			return err
		}
		if w.holder, err = module.Function("hold"); err != nil {
			return err
		}
	}
	return w.mark(nil)
}

// Close ends the Watch.
func (w *Watch) Close() error {
	if w.m.watch == w {
		w.m.watch = nil
	}
	var first error
	for _, e := range w.events {
		if e == nil {
			continue
		}
		if err := e.Close(); first == nil {
			first = err
		}
	}
	return first
}

// Read waits for all recorded work and returns the laps since Watch or the last Read. No lap
// contains Read's own time.
func (w *Watch) Read() (Laps, error) {
	err := w.m.Err()
	if err == nil {
		err = w.mark(&w.laps.Idle)
	}
	if err == nil {
		err = w.read()
	}
	if err != nil {
		return Laps{}, err
	}
	laps := w.laps
	w.laps = Laps{Kernels: make([]Lap, len(laps.Kernels))}
	return laps, w.mark(nil)
}

// mark ends the current lap, which of counts.
func (w *Watch) mark(of *Lap) error {
	if of != nil {
		of.Times++
	}
	w.of[w.used] = of
	w.used++
	return w.events[w.used-1].Record()
}

// Each makes the Watch call note with every lap, in order, some time later. note gets the number
// of a model's kernel, or -1 and the lap's name.
func (w *Watch) Each(note func(kernel int, took time.Duration, other string)) { w.note = note }

// what returns the number of a lap's kernel, or -1 and the lap's name.
func (w *Watch) what(of *Lap) (kernel int, other string) {
	for i := range w.laps.Kernels {
		if of == &w.laps.Kernels[i] {
			return i, ""
		}
	}
	l := &w.laps
	return -1, map[*Lap]string{&l.Copy: "copy", &l.Clear: "clear", &l.Add: "sum of gradients", &l.Settle: "factor of clipping",
		&l.Transfers: "copy from or to the host", &l.Ranks: "exchange between ranks", &l.Whole: "step", &l.Idle: "waiting for the host"}[of]
}

func (w *Watch) full() bool { return w.used+spare > len(w.events) }

// read adds up the laps so far. The last mark stays as the start of the next lap.
func (w *Watch) read() error {
	if w.m.options.Ranks != nil { // Since would wait for ranks that are gone
		if err := w.m.synchronize(); err != nil {
			return err
		}
	}
	for i := 1; i < w.used; i++ {
		took, err := w.events[i].Since(w.events[i-1])
		if err != nil {
			return err
		}
		of := w.of[i]
		if of == nil {
			continue
		}
		of.Time += took
		if w.note != nil {
			kernel, other := w.what(of)
			w.note(kernel, took, other)
		}
	}
	last := w.used - 1
	w.events[0], w.events[last] = w.events[last], w.events[0]
	w.used = 1
	return nil
}

// run submits the Machine's command list with marks in it, and waits for it.
func (w *Watch) run() error {
	m := w.m
	err := w.mark(&w.laps.Idle)
	switch {
	case err != nil:
	case w.each:
		err = w.walk()
	default:
		if err = m.play(); err == nil {
			err = w.mark(&w.laps.Whole)
		}
	}
	if err == nil {
		err = m.synchronize()
	}
	if err != nil || !w.full() {
		return err
	}
	return w.next(0)
}

// walk queues the command list with a mark after every command, meeting and transfer.
func (w *Watch) walk() error {
	const transfers = 2
	left := len(w.m.list.commands) + len(w.m.list.meetings) + transfers
	if err := w.hold(left); err != nil {
		return err
	}
	return w.m.put(func(c *command) error {
		if err := w.mark(w.lap(c)); err != nil {
			return err
		}
		if left--; !w.full() {
			return nil
		}
		if w.held > 0 {
			w.pace = min(max(w.pace, time.Since(w.began)/time.Duration(w.held)), slowestPace)
		}
		return w.next(left)
	})
}

// lap returns the Lap that counts a command's time.
func (w *Watch) lap(c *command) *Lap {
	switch {
	case c == nil:
		return &w.laps.Transfers
	case c.k == nil:
		return &w.laps.Ranks
	case c.k == w.m.moves.copy, c.k == w.m.moves.round:
		return &w.laps.Copy
	case c.k == w.m.moves.clear:
		return &w.laps.Clear
	case c.k == w.m.moves.add, c.k == w.m.moves.sum:
		return &w.laps.Add
	case c.k == w.m.moves.settle:
		return &w.laps.Settle
	}
	return &w.laps.Kernels[c.k.number]
}

// next reads all marks when they are used up. The device idles meanwhile, and no lap counts this
// time.
func (w *Watch) next(left int) error {
	if err := w.read(); err != nil {
		return err
	}
	return w.hold(left)
}

// hold holds the device while the host queues left marks, or fewer if there is less room.
func (w *Watch) hold(left int) error {
	w.held = min(left, len(w.events)-w.used)
	w.began = time.Now()
	if w.holder != nil && w.held > 0 {
		const kilo = 1000
		cycles := float64(margin*w.held) * w.pace.Seconds() * float64(w.m.info.Clock) * kilo
		args := binary.LittleEndian.AppendUint64(nil, uint64(cycles))
		if err := w.holder.Launch([3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, args); err != nil {
			return err
		}
	}
	return w.mark(nil)
}
