package train

import "github.com/arithlang/mlc/runtime/task"

// A source draws the problems of steps. It draws the next step's while a machine computes this
// step. Problems do not depend on whether they were drawn ahead.
type source struct {
	drawers [2]*task.Drawer // for this step and the next
	ahead   drawn           // drawn for the next step
	asked   bool            // ahead is being drawn
	done    chan struct{}   // ahead is drawn
	run     func()          // a function value, allocated once
}

// drawn is n problems from first on.
type drawn struct {
	first int64
	n     int
	batch task.Batch
	err   error
}

// newSource returns a source whose Drawers are made by drawer.
func newSource(drawer func() *task.Drawer) *source {
	s := &source{done: make(chan struct{}, 1)}
	for i := range s.drawers {
		s.drawers[i] = drawer()
	}
	s.run = func() {
		d := &s.ahead
		d.batch, d.err = s.drawers[1].Train(d.first, d.n)
		s.done <- struct{}{}
	}
	return s
}

// draw returns n problems from first on, valid until the next call.
func (s *source) draw(first int64, n int) (task.Batch, error) {
	if s.asked {
		<-s.done
		s.asked = false
		s.drawers[0], s.drawers[1] = s.drawers[1], s.drawers[0]
		if d := &s.ahead; d.first == first && d.n == n {
			return d.batch, d.err
		}
	}
	return s.drawers[0].Train(first, n)
}

// begin starts drawing n problems from first on, for the next call of draw.
func (s *source) begin(first int64, n int) {
	s.ahead, s.asked = drawn{first: first, n: n}, true
	go s.run()
}
