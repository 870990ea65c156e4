package simulated

import (
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
)

// event is a mark in the queue that reads the host's clock when it is reached. The difference
// between two marks is the simulator's own time.
type event struct {
	d                *driver
	at               time.Time
	recorded, closed bool
}

func (d *driver) NewEvent() (cuda.Event, error) {
	if err := d.ready("make an event"); err != nil {
		return nil, err
	}
	return &event{d: d}, nil
}

func (e *event) Record() error {
	const doing = "record an event"
	if err := e.d.ready(doing); err != nil {
		return err
	}
	if e.closed {
		return fail(invalidHandle, doing, nil)
	}
	e.recorded = true
	return e.d.do(func() error {
		e.at = time.Now()
		return nil
	})
}

func (e *event) Wait() error {
	if !e.marked() {
		return fail(invalidHandle, "wait for the device", nil)
	}
	return e.d.Synchronize()
}

func (e *event) Since(start cuda.Event) (time.Duration, error) {
	s, ok := start.(*event)
	if !ok || s.d != e.d || !e.marked() || !s.marked() {
		return 0, fail(invalidHandle, "ask for the time between two events", nil)
	}
	if err := e.d.Synchronize(); err != nil {
		return 0, err
	}
	return e.at.Sub(s.at), nil
}

func (e *event) marked() bool { return e.recorded && !e.closed }

func (e *event) Close() error {
	if err := e.d.ready("free an event"); err != nil {
		return err
	}
	e.closed = true
	return nil
}
