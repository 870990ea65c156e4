package train

import (
	"slices"

	"github.com/arithlang/mlc/runtime/device"
)

// A memory is a machine with one worker. It keeps spaces and computes nothing.
type memory struct {
	device.Machine
	device.Worker
	env     device.Env
	floats  map[device.Space][]float32
	ints    []int32
	repeats bool
	err     error
}

func newMemory() *memory { return &memory{floats: map[device.Space][]float32{}} }

// of returns n elements from a place in a space on.
func (m *memory) of(r device.Ref, n int) []float32 {
	if more := r.Off + n - len(m.floats[r.Space]); more > 0 {
		m.floats[r.Space] = append(m.floats[r.Space], make([]float32, more)...)
	}
	return m.floats[r.Space][r.Off:][:n]
}

func (m *memory) Root() device.Worker                            { return m }
func (m *memory) Err() error                                     { return m.err }
func (m *memory) Repeats() bool                                  { return m.repeats }
func (m *memory) Examples(least, _ int, _ func(int) float64) int { return least }
func (m *memory) Env() *device.Env                               { return &m.env }
func (m *memory) Queue() device.Queue                            { return device.NewQueue(m) }
func (m *memory) Zero(r device.Ref, n int)                       { clear(m.of(r, n)) }
func (m *memory) PutFloats(r device.Ref, x []float32)            { copy(m.of(r, len(x)), x) }
func (m *memory) GetFloats(x []float32, r device.Ref)            { copy(x, m.of(r, len(x))) }
func (m *memory) PutInts(r device.Ref, x []int32)                { copy(m.ints[r.Off:], x) }
func (m *memory) Ranges(n int, f func(device.Worker, int, int))  { f(m, 0, n) }

func (m *memory) Fit(work, ints int) {
	m.of(device.Ref{Space: device.Work}, work)
	m.ints = slices.Grow(m.ints[:0], ints)[:ints]
}

func (m *memory) Sum(n int, f func(w device.Worker, i int)) {
	clear(m.floats[device.Grads])
	for i := range n {
		f(m, i)
	}
}

func (m *memory) Settle(e *device.Env, limit float64, _ bool) {
	e.Clip = device.Clip(limit, m.of(device.Ref{Space: device.Work}, 1)[0])
}

func (m *memory) Later(work, done func()) error {
	work()
	done()
	return m.err
}

// toy returns the plan of a model with one parameter. The loss of a label is its number, and the
// gradient is the sum of the labels' weights. The optimizer subtracts the rate times the gradient.
// Launches of gradients are appended to launches.
func (m *memory) toy(launches *[]device.Env) *device.Plan {
	grad := device.Ref{Space: device.Grads}
	return &device.Plan{NumParams: 1, AnyLaunch: true,
		Gradients: device.Program{
			Layout: func(e *device.Env) device.Layout {
				at := func(n int) device.Ref { return device.Ref{Space: device.Ints, Off: n} }
				s, t := e.B*e.S, e.Rows()
				return device.Layout{Work: t, Ints: s + 3*t + 2*e.B, Source: at(0), Target: at(s), Labels: at(s + t), Example: at(s + 2*t), Start: at(s + 3*t), Length: at(s + 3*t + e.B), Loss: device.Ref{Space: device.Work}}
			},
			Run: func(_ device.Queue, e *device.Env) {
				*launches = append(*launches, *e)
				rows, actual := e.Rows(), e.Launched()
				losses := m.of(device.Ref{Space: device.Work}, rows)
				for i, label := range m.ints[e.B*e.S+rows:][:actual.Rows()] {
					losses[i] = float32(max(label, 0))
					if label >= 0 {
						m.of(grad, 1)[0] += e.Scale
					}
				}
			},
		},
		SumSquares: device.Program{
			Layout: func(*device.Env) device.Layout { return device.Layout{} },
			Run: func(device.Queue, *device.Env) {
				g := m.of(grad, 1)[0]
				m.of(device.Ref{Space: device.Work}, 1)[0] = g * g
			},
		},
		Update: device.Program{
			Layout: func(*device.Env) device.Layout { return device.Layout{} },
			Run: func(_ device.Queue, e *device.Env) {
				m.of(device.Ref{Space: device.Params}, 1)[0] -= e.LR * e.Clip * m.of(grad, 1)[0]
			},
		},
	}
}
