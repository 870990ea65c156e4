//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"unsafe"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libraries"
)

// workspaceBytes is NVIDIA's recommendation for compute capability 9.0. Earlier ones need less.
const workspaceBytes = 32 << 20

// A multiplier is an opened library on a device.
type multiplier struct {
	*table
	driver    cuda.Driver
	stream    cuda.Streamer
	lt        handle // 0: it is closed
	workspace cuda.Ptr
	plans     map[cuda.Product]*plan // by shape
}

// Open opens the library at a path for a device. If the path is empty, MLC_CUBLASLT names it.
// Otherwise Open opens the first library found that works.
func Open(d cuda.Driver, path string) (cuda.Multiplier, error) {
	stream, ok := d.(cuda.Streamer)
	if !ok {
		return nil, notGPU(d)
	}
	if path = cmp.Or(path, os.Getenv("MLC_CUBLASLT")); path != "" {
		return open(d, stream, path)
	}
	python, _ := exec.LookPath("python3")
	searched := libraries.Places(sonames, os.Getenv, python)
	var failed []error
	for _, place := range searched {
		for _, candidate := range place.Candidates() {
			m, err := open(d, stream, candidate)
			if err == nil {
				return m, nil
			}
			if !place.Loader || errors.As(err, new(status)) { // if the loader does not know a name, there is no such library
				failed = append(failed, err)
			}
		}
	}
	if failed == nil {
		return nil, missing(searched)
	}
	return nil, fmt.Errorf("%w; name another file with MLC_CUBLASLT or --gemm cublaslt=PATH, or use --gemm mlc", errors.Join(failed...))
}

// open opens one library and prepares it for a device.
func open(d cuda.Driver, stream cuda.Streamer, path string) (cuda.Multiplier, error) {
	t, err := openTable(path)
	if err != nil {
		return nil, fmt.Errorf("cuBLASLt cannot be loaded: %w", err)
	}
	m := &multiplier{table: t, driver: d, stream: stream, plans: map[cuda.Product]*plan{}}
	err = m.queue("start", func(uintptr) (s status) {
		m.lt, s = t.create()
		return s
	})
	if err != nil {
		return nil, err
	}
	if m.workspace, err = d.Alloc(workspaceBytes); err != nil {
		return nil, errors.Join(fmt.Errorf("memory for cuBLASLt: %w", err), m.Close())
	}
	return m, nil
}

// queue calls the library on a thread where the device's context is current.
func (m *multiplier) queue(doing string, call func(stream uintptr) status) error {
	return m.stream.Enqueue(m.Name(), func(stream uintptr) error {
		if s := call(stream); s != success {
			return fmt.Errorf("%s (%s): %s: %w", m.Name(), filepath.Base(m.path), doing, s)
		}
		return nil
	})
}

// Name returns the library's name and version.
func (m *multiplier) Name() string { return "cuBLASLt " + m.version() }

// Multiply queues a product.
func (m *multiplier) Multiply(p *cuda.Product) error {
	doing := fmt.Sprintf("multiply [%d, %d] by [%d, %d]", p.M, p.K, p.K, p.N)
	return m.queue(doing, func(stream uintptr) status {
		shape := shapeOf(p)
		x := m.plans[shape]
		if x == nil {
			var s status
			if x, s = m.newPlan(m.lt, shape); s != success {
				return s
			}
			m.plans[shape] = x
		}
		return m.matmul(x, p, stream)
	})
}

// matmul computes D = A B + beta C. C is D if nothing is added.
func (m *multiplier) matmul(x *plan, p *cuda.Product, stream uintptr) status {
	added := p.Plus.At
	if added == 0 {
		added = p.Out.At
	}
	return m.call(ltMatmul, uintptr(m.lt), uintptr(x.desc), uintptr(unsafe.Pointer(&x.alpha)),
		uintptr(p.Right.At), uintptr(x.layouts[0]), uintptr(p.Left.At), uintptr(x.layouts[1]), uintptr(unsafe.Pointer(&x.beta)),
		uintptr(added), uintptr(x.layouts[2]), uintptr(p.Out.At), uintptr(x.layouts[3]),
		uintptr(unsafe.Pointer(&x.algo.algo)), uintptr(m.workspace), workspaceBytes, stream)
}

// Close frees the library's resources. Closing twice does nothing.
func (m *multiplier) Close() error {
	if m.lt == 0 {
		return nil
	}
	err := m.queue("end", func(uintptr) status {
		for _, p := range m.plans {
			m.drop(p)
		}
		return m.destroy(m.lt)
	})
	freed := m.driver.Free(m.workspace)
	m.lt, m.workspace, m.plans = 0, 0, nil
	return errors.Join(err, freed)
}
