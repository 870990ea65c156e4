package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
)

// A Trace is a time line of launches, for Perfetto (ui.perfetto.dev) or chrome://tracing. It
// has a track for each worker, or one for a GPU, and one for whole steps. Methods of a nil
// Trace do nothing.
type Trace struct {
	Title string
	Names []string // of kernels, by number
	begin time.Time

	mu     sync.Mutex
	tracks []*track
	gpu    *track // its laps are consecutive
	steps  *track
	now    time.Duration // by the GPU's clock
}

// mostEvents is the most events that a track keeps: nobody can use a trace of many hundred
// megabytes.
const mostEvents = 1 << 17

// A track is one line of a Trace.
type track struct {
	of     *Trace
	name   string
	events []event
	lost   int // events after the kept ones
}

// An event is a launch.
type event struct {
	name         string
	start, took  time.Duration
	flops, bytes float64
}

// NewTrace returns a trace that begins now.
func NewTrace(title string, names []string) *Trace {
	return &Trace{Title: title, Names: names, begin: time.Now()}
}

// track adds a line; n distinguishes lines of one name.
func (t *Trace) track(name string, n int) *track {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &track{of: t, name: fmt.Sprintf("%s %d", name, n)}
	t.tracks = append(t.tracks, k)
	return k
}

// add records a launch of a kernel, or of other work if kernel is negative.
func (k *track) add(kernel int, other string, start time.Time, l Lap) {
	if k == nil {
		return
	}
	name := other
	if kernel >= 0 {
		name = k.of.Names[kernel]
	}
	k.keep(event{name, start.Sub(k.of.begin), l.Time, l.Flops, l.Bytes})
}

func (k *track) keep(e event) {
	if len(k.events) == mostEvents {
		k.lost++
		return
	}
	k.events = append(k.events, e)
}

// follow records the next work of a GPU.
func (t *Trace) follow(name string, took time.Duration) {
	if t == nil {
		return
	}
	if t.gpu == nil {
		t.gpu = t.track("GPU", 0)
	}
	t.gpu.keep(event{name: name, start: t.now, took: took})
	t.now += took
}

// Step records a whole step, by the host's clock.
func (t *Trace) Step(n int, start time.Time, took time.Duration) {
	if t == nil {
		return
	}
	if t.steps == nil {
		t.steps = t.track("steps", 0)
	}
	t.steps.keep(event{name: fmt.Sprintf("step %d", n), start: start.Sub(t.begin), took: took})
}

// Write writes the trace as JSON (the Trace Event Format). It returns how many events were
// dropped.
func (t *Trace) Write(path string) (lost int, err error) {
	text, lost := t.encode()
	return lost, ckpt.WriteFile(path, text)
}

// A line is an event in JSON. Times are microseconds.
type line struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Start float64        `json:"ts"`
	Took  float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

func (t *Trace) encode() (text []byte, lost int) {
	lines := []line{{Name: "process_name", Phase: "M", PID: 1, Args: map[string]any{"name": t.Title}}}
	micro := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	for i, k := range t.tracks {
		tid := i + 1
		lines = append(lines, line{Name: "thread_name", Phase: "M", PID: 1, TID: tid, Args: map[string]any{"name": k.name}})
		for _, e := range k.events {
			l := line{Name: e.name, Phase: "X", Start: micro(e.start), Took: micro(e.took), PID: 1, TID: tid}
			if e.flops > 0 || e.bytes > 0 {
				l.Args = map[string]any{"flop": e.flops, "bytes": e.bytes}
				if e.took > 0 {
					l.Args["GFLOP/s"], l.Args["GB/s"] = e.flops/float64(e.took.Nanoseconds()), e.bytes/float64(e.took.Nanoseconds())
				}
			}
			lines = append(lines, l)
		}
		lost += k.lost
	}
	var b bytes.Buffer
	b.WriteString("{\"traceEvents\":[")
	for i, l := range lines {
		if i > 0 {
			b.WriteString(",\n")
		}
		one, err := json.Marshal(l)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		b.Write(one)
	}
	b.WriteString("],\"displayTimeUnit\":\"ns\"}\n")
	return b.Bytes(), lost
}
