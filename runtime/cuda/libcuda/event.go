//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"math"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
)

// event is a mark in the stream. The driver could also record marks in graphs, but such a mark
// would count for every replay.
type event struct {
	d        *driver
	handle   handle
	recorded bool
}

// NewEvent makes an event.
func (d *driver) NewEvent() (cuda.Event, error) {
	e := &event{d: d}
	err := d.wait(func() (c cuda.Code) {
		e.handle, c = d.eventCreate()
		return c
	}, "make an event")
	if err != nil {
		return nil, err
	}
	d.events[e] = true
	return e, nil
}

// Record queues the mark.
func (e *event) Record() error {
	const doing = "record an event"
	if !e.d.events[e] {
		return e.d.failure(invalidHandle, doing)
	}
	err := e.d.wait(func() cuda.Code { return e.d.eventRecord(e.handle, e.d.stream) }, doing)
	if err == nil {
		e.recorded = true
	}
	return err
}

// Wait waits for the mark.
func (e *event) Wait() error {
	const doing = "wait for the device"
	if !e.ready() {
		return e.d.failure(invalidHandle, doing)
	}
	return e.d.wait(func() cuda.Code { return e.d.eventSynchronize(e.handle) }, doing)
}

// Since waits for both marks and returns the time between them.
func (e *event) Since(start cuda.Event) (time.Duration, error) {
	const doing = "ask for the time between two events"
	s, ok := start.(*event)
	if !ok || s.d != e.d || !e.ready() || !s.ready() {
		return 0, e.d.failure(invalidHandle, doing)
	}
	var ms float32
	err := e.d.wait(func() (c cuda.Code) {
		for _, h := range [...]handle{s.handle, e.handle} {
			if c = e.d.eventSynchronize(h); c != 0 {
				return c
			}
		}
		ms, c = e.d.eventElapsed(s.handle, e.handle)
		return c
	}, doing)
	return time.Duration(math.Round(float64(ms) * float64(time.Millisecond))), err
}

// ready reports whether there is a mark to wait for.
func (e *event) ready() bool { return e.recorded && e.d.events[e] }

// Close frees the event. The driver delays this until the mark is passed.
func (e *event) Close() error {
	return drop(e.d, e.d.events, e, func() cuda.Code { return e.d.eventDestroy(e.handle) }, "free an event")
}
