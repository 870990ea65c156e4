package train

import "github.com/arithlang/mlc/runtime/task"

// A source draws the problems of steps, those of the next one while a machine works on
// this one. What it draws is a function of which problems they are: nothing hangs on what
// was drawn ahead.
type source struct {
	drawers [2]*task.Drawer // the one of this step, and the one of the next
	ahead   drawn           // what is drawn for the next
	asked   bool            // somebody draws it
	done    chan struct{}   // when it is there
	run     func()          // a method as a function, which is allocated where it is made
}

// drawn is what a Drawer has drawn: n problems from first on.
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

// draw returns n problems from first on, which are good until the next call.
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

// begin begins to draw n problems from first on, which the next call of draw may want.
func (s *source) begin(first int64, n int) {
	s.ahead, s.asked = drawn{first: first, n: n}, true
	go s.run()
}
