package simulated

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
)

// A Multiplier multiplies matrices on a simulated device. Sums are in float64 and rounded once.
// It is as lazy as the device, and graphs record it.
type Multiplier struct {
	d     *driver
	Calls int // number of calls of Multiply
	Flops int // FLOP of these calls
}

// NewMultiplier returns the multiplier of a device made by Open.
func NewMultiplier(d cuda.Driver) *Multiplier { return &Multiplier{d: d.(*driver)} }

// Name returns "simulated products".
func (m *Multiplier) Name() string { return "simulated products" }

// Close does nothing.
func (m *Multiplier) Close() error { return nil }

// Multiply queues a product. It refuses empty sizes, a narrow or transposed Plus, and factors of
// different types.
func (m *Multiplier) Multiply(p *cuda.Product) error {
	if min(p.M, p.N, p.K, p.Batch) < 1 || p.Plus.At != 0 && (p.Plus.Narrow || p.Plus.Trans) || p.Left.Narrow != p.Right.Narrow {
		return fail(invalidValue, fmt.Sprintf("multiply %+v", *p), nil)
	}
	m.Calls++
	m.Flops += 2 * p.M * p.N * p.K * p.Batch
	was := *p
	return m.d.do(func() error { return illegal("multiply", m.d.multiply(&was)) })
}

func (d *driver) multiply(p *cuda.Product) error {
	for i := range p.Batch {
		left, err := d.matrix(p.Left, i, p.M, p.K)
		if err != nil {
			return err
		}
		right, err := d.matrix(p.Right, i, p.K, p.N)
		if err != nil {
			return err
		}
		out := func(int, int) float64 { return 0 }
		if p.Plus.At != 0 {
			if out, err = d.matrix(p.Plus, i, p.M, p.N); err != nil {
				return err
			}
		}
		var bytes []byte
		for r := range p.M {
			for c := range p.N {
				sum := out(r, c)
				for k := range p.K {
					sum += float64(left(r, k) * right(k, c))
				}
				bytes = appendElement(bytes, sum, p.Out.Narrow)
			}
		}
		if err := d.dev.Write(at(p.Out, i), bytes); err != nil {
			return err
		}
	}
	return nil
}

func at(m cuda.Matrix, i int) ptxsim.Ptr { return ptxsim.Ptr(int64(m.At) + int64(i)*m.Step) }

// matrix reads matrix i of a batch and returns a function of its elements.
func (d *driver) matrix(m cuda.Matrix, i, rows, cols int) (func(r, c int) float64, error) {
	const float, narrow = 4, 2
	size := float
	if m.Narrow {
		size = narrow
	}
	bytes := make([]byte, rows*cols*size)
	err := d.dev.Read(bytes, at(m, i))
	return func(r, c int) float64 {
		n := r*cols + c
		if m.Trans {
			n = c*rows + r
		}
		if m.Narrow {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(bytes[n*size:])) << 16))
		}
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(bytes[n*size:])))
	}, err
}

// appendElement appends x as a float32, or rounded further to BF16 if narrow. Both roundings are
// to nearest even.
func appendElement(b []byte, x float64, narrow bool) []byte {
	bits := math.Float32bits(float32(x))
	if !narrow {
		return binary.LittleEndian.AppendUint32(b, bits)
	}
	const half, exponent = 0x7fff, 0x7f800000
	if bits&^(1<<31) > exponent { // not a number
		return binary.LittleEndian.AppendUint16(b, 0x7fff)
	}
	return binary.LittleEndian.AppendUint16(b, uint16((bits+half+bits>>16&1)>>16))
}
