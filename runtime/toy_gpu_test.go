package runtime

import (
	_ "embed"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/program"
)

//go:embed testdata/toy.ptx
var toyPTX string

// toyOnGPU is the toy with kernels for GPUs, too (testdata/toy.cl). Its loss is the squared
// error, which needs only additions and multiplications, so that the result is unique.
func toyOnGPU() program.Model {
	m := toyModel()
	m.CPU[toyGradients].Run = runToySquares
	one := func(*device.Env) int { return 1 }
	m.GPU = cuda.Program{PTX: toyPTX, Kernels: []cuda.Kernel{
		toyGradients:  {Name: "gradients", Threads: 32, Scalars: []string{"B", "T", "S", "example"}, Step: true, Blocks: one},
		toyPredict:    {Name: "predict", Threads: 32, Scalars: []string{"B", "T", "S", "P"}, Blocks: one},
		toyEncode:     {Name: "encode", Threads: 32, Scalars: []string{"B", "S"}, Blocks: one},
		toySumSquares: {Name: "sum_squares", Threads: 32, Scalars: []string{"N"}, Blocks: one},
		toyUpdate:     {Name: "update", Threads: 32, Scalars: []string{"P", "N", "decay", "bound"}, Step: true, Blocks: one},
	}}
	return m
}

// costlyOnGPU is the toy with known work: a row of gradients has 100 operations and 8 bytes.
func costlyOnGPU() program.Model {
	m := toyOnGPU()
	m.CPU[toyGradients].Cost = func(e *device.Env) cpu.Cost {
		return cpu.Cost{Flops: float64(100 * e.B * e.T), Bytes: float64(8 * e.B * e.T)}
	}
	return m
}

func runToySquares(w *cpu.Worker, e *device.Env, a []device.Ref) {
	source, target, labels, loss, pred := w.I32(a[0]), w.I32(a[1]), w.I32(a[2]), w.F32(a[3]), w.I32(a[4])
	params, grads := w.Mem.F32[device.Params], w.Mem.F32[device.Grads]
	for i := range e.B * e.T {
		b, row := i/e.T, i%e.T
		parts := toyRow(e, source[b*e.S:], target[i], row)
		open := parts[:]
		if philox.Block(philox.KeyOf(e.Seed), [4]uint32{uint32(row), e.Example + uint32(b), e.Step, 0})[0] < 1<<29 {
			open = parts[1:]
		}
		logits, best := toyLogits(params, open)
		pred[i], loss[i] = best, 0
		for v, d := range logits {
			if v == int(labels[i]) {
				d--
			}
			loss[i] += float32(d * d)
			for _, at := range open {
				grads[at+v] += float32(d * e.Scale)
			}
		}
	}
}
