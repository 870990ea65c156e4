//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"github.com/arithlang/mlc/runtime/cuda"
)

// A plan is the settings of products of one shape, made once.
type plan struct {
	desc        handle
	layouts     [4]handle // of A, B, C and D, as the library calls them
	algo        *heuristic
	alpha, beta float32
}

// shapeOf returns the parts of a product that a plan depends on: everything except addresses, and
// their alignments.
func shapeOf(p *cuda.Product) cuda.Product {
	shape := *p
	for _, m := range []*cuda.Matrix{&shape.Left, &shape.Right, &shape.Plus, &shape.Out} {
		m.At = alignment(*m, p.Batch)
	}
	return shape
}

// alignment returns the largest power of two, at most 256, that divides all addresses of a batch,
// or 0 without matrices.
func alignment(m cuda.Matrix, batch int) cuda.Ptr {
	const most = 256
	if m.At == 0 {
		return 0
	}
	bits := uint64(m.At) | most
	if batch > 1 {
		bits |= uint64(m.Step)
	}
	return cuda.Ptr(bits & -bits)
}

// newPlan makes the plan of a shape.
func (t *table) newPlan(lt handle, shape cuda.Product) (p *plan, s status) {
	p = &plan{alpha: 1}
	if shape.Plus.At != 0 {
		p.beta = 1
	}
	defer func() {
		if s != success {
			t.drop(p)
		}
	}()
	if p.desc, s = t.descCreate(); s != success {
		return p, s
	}
	// Left and Right are exchanged.
	if s = t.descSet(p.desc, descTransA, transposed(shape.Right)); s == success {
		s = t.descSet(p.desc, descTransB, transposed(shape.Left))
	}
	for i, x := range []struct {
		cuda.Matrix
		rows, cols int
	}{{shape.Right, shape.K, shape.N}, {shape.Left, shape.M, shape.K}, {shape.Out, shape.M, shape.N}, {shape.Out, shape.M, shape.N}} {
		if s == success {
			if i == 2 && shape.Plus.At != 0 {
				x.Step = shape.Plus.Step
			}
			p.layouts[i], s = t.layout(x.Matrix, x.rows, x.cols, shape.Batch)
		}
	}
	if s == success {
		p.algo, s = t.choose(lt, p, shape)
	}
	return p, s
}

func transposed(m cuda.Matrix) int32 {
	if m.Trans {
		return opT
	}
	return opN
}

// layout describes a matrix of rows and cols, which are swapped in column-major order. Its rows
// are the library's columns.
func (t *table) layout(m cuda.Matrix, rows, cols, batch int) (handle, status) {
	if m.Trans {
		rows, cols = cols, rows
	}
	typ, size := uintptr(real32F), int64(4)
	if m.Narrow {
		typ, size = real16BF, 2
	}
	h, s := t.layoutCreate(typ, cols, rows, cols)
	if s == success && batch > 1 {
		s = t.layoutBatch(h, int32(batch), m.Step/size)
	}
	return h, s
}

// choose asks for an algorithm that fits into the workspace and adds the parts of a sum in
// float32.
func (t *table) choose(lt handle, p *plan, shape cuda.Product) (*heuristic, status) {
	preference, s := t.preferenceCreate()
	if s != success {
		return nil, s
	}
	defer t.call(ltMatmulPreferenceDestroy, uintptr(preference))
	if s = t.preferRoom(preference, workspaceBytes); s == success {
		s = t.preferWords(preference, preferReduction, reduceInCompute)
	}
	added := shape.Plus
	if added.At == 0 {
		added = shape.Out
	}
	for i, m := range []cuda.Matrix{shape.Right, shape.Left, added, shape.Out} {
		if s == success {
			s = t.preferWords(preference, preferAlignA+uintptr(i), uint32(m.At))
		}
	}
	if s != success {
		return nil, s
	}
	return t.heuristic(lt, p.desc, p.layouts, preference)
}

// drop frees a plan.
func (t *table) drop(p *plan) {
	for _, h := range p.layouts {
		if h != 0 {
			t.call(ltMatrixLayoutDestroy, uintptr(h))
		}
	}
	if p.desc != 0 {
		t.call(ltMatmulDescDestroy, uintptr(p.desc))
	}
}
