package processor

import (
	"testing"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// TestWorkersSeeNewParameters multiplies by parameters that change between calls of a machine.
// Workers must renew their packed copies.
func TestWorkersSeeNewParameters(t *testing.T) {
	const rows, n = 64, 16
	ones := make([]float32, rows)
	for i := range ones {
		ones[i] = 1
	}
	m := New(nil, cpu.Detect(), 2, &device.Plan{NumParams: n})
	params := m.Root().(*worker).Mem.F32[device.Params]
	product := func(w device.Worker, _ int) {
		at, c := w.(*worker), make([]float32, rows*n)
		at.Release(cpu.Mark{})
		at.ProductPacked(rows, ones, 1, 1, at.Pack(rows, 1, n, params, n, 1), c, n)
		if c[0] != params[0] || c[rows*n-1] != params[n-1] {
			t.Errorf("a product of 1 and %v is %v", params[0], c[0])
		}
	}
	for step := range 3 {
		for name, call := range map[string]func(int, func(device.Worker, int)){"Each": m.Each, "Sum": m.Sum} {
			for i := range params {
				params[i] += float32(step + i + 1)
			}
			t.Run(name, func(*testing.T) { call(4, product) })
		}
	}
}
