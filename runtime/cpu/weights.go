package cpu

import (
	"maps"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/arithlang/mlc/runtime/device"
)

// Weights keeps packed matrices of parameters for all Workers that share it. A matrix is packed
// once until parameters change, instead of by each launch. The zero value is ready for use.
type Weights struct {
	age  uint64 // version of the parameters
	all  atomic.Pointer[map[weight]*kept]
	mu   sync.Mutex // guards additions to all
	size int        // total elements
}

// MostKept is the most that Weights keeps, in bytes. Larger models pack the rest for each
// launch.
const MostKept = 1 << 28

const elemBytes = 4

// A weight is a matrix in the space of parameters.
type weight struct{ first, rs, cs, k, n int }

// kept is the packed form of a weight.
type kept struct {
	age    atomic.Uint64 // 1 more than the age of the parameters in panels, once panels is complete
	mu     sync.Mutex    // guards panels while they are written
	panels []float32
}

// Renew says that parameters may have changed. No Worker may run meanwhile.
func (x *Weights) Renew() { x.age++ }

// packed returns the panels of b, or nil if b is not a matrix of parameters, or if there is no
// room for it.
func (x *Weights) packed(w *Worker, k, n int, b matrix) []float32 {
	first, ok := w.parameter(b.data)
	if x == nil || !ok {
		return nil
	}
	p := x.find(weight{first, b.rs, b.cs, k, n}, w.products.packedSize(k, n))
	if p == nil {
		return nil
	}
	if now := x.age + 1; p.age.Load() != now {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.age.Load() != now {
			w.products.pack(p.panels, k, n, b)
			p.age.Store(now)
		}
	}
	return p.panels
}

// find returns the packed form of a weight with the given size in elements, or nil if there is
// no room for it. It takes no lock for an existing one.
func (x *Weights) find(key weight, size int) *kept {
	all := x.all.Load()
	if all != nil && (*all)[key] != nil {
		return (*all)[key]
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	more := map[weight]*kept{}
	if all = x.all.Load(); all != nil {
		more = maps.Clone(*all)
	}
	if more[key] != nil || (x.size+size)*elemBytes > MostKept {
		return more[key]
	}
	x.size += size
	p := &kept{panels: aligned[float32](size)}
	more[key] = p
	x.all.Store(&more)
	return p
}

// parameter returns where data begins in the space of parameters, if it does.
func (w *Worker) parameter(data []float32) (first int, ok bool) {
	all := w.Mem.F32[device.Params]
	from := uintptr(unsafe.Pointer(unsafe.SliceData(all)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return int(at-from) / elemBytes, at >= from && at < from+uintptr(len(all))*elemBytes
}
