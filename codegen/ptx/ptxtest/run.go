package ptxtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/abi"
)

// A Runner has a module loaded on a simulated device.
type Runner struct {
	way     Way
	device  *ptxsim.Device
	module  *ptxsim.Module
	entries map[string]ptx.Entry
	stats   ptxsim.Stats
}

// Load makes a device for a way and loads a module.
func Load(out ptx.Output, w Way) (*Runner, error) {
	r := newRunner(w)
	for _, e := range out.Kernels {
		r.entries[e.Name] = e
	}
	var err error
	r.module, err = r.device.Load(out.Text)
	return r, err
}

func newRunner(w Way) *Runner {
	device := ptxsim.New(ptxsim.Options{Arch: w.GPU(), Order: w.Order, Seed: w.Seed, MaxSteps: w.Limit, Reach: w.Reach})
	return &Runner{way: w, device: device, entries: map[string]ptx.Entry{}}
}

// In makes a device for another way and loads the same module, which is not read again.
func (r *Runner) In(w Way) (*Runner, error) {
	other := newRunner(w)
	other.entries = r.entries
	var err error
	other.module, err = r.module.On(other.device)
	return other, err
}

// Check launches a case and compares its results with the interpreter's. A warning of the
// simulator is an error, too: no schedule intends it.
func (r *Runner) Check(c *Case) error {
	l, err := r.prepare(c)
	if err != nil {
		return err
	}
	defer l.free()
	if l.grid == 0 {
		return l.compare()
	}
	k, err := r.module.Kernel(c.Kernel.Name)
	if err != nil {
		return err
	}
	if err := l.declared(k); err != nil {
		return err
	}
	stats, err := k.Launch(ptxsim.Launch{
		Grid: [3]int{l.grid, r.way.Replicas, l.sets}, Block: [3]int{l.entry.Threads, 1, 1}, Shared: l.dynamic, Args: l.sig.Append(nil, &l.args),
	})
	if r.stats = stats; err != nil {
		return err
	}
	if len(stats.Warnings) > 0 {
		return stats.Warnings[0]
	}
	return l.compare()
}

// Steps returns how many lane instructions the last launch has run.
func (r *Runner) Steps() int64 { return r.stats.Steps }

// Reached returns the lines that the last launch reached, if its Way records them.
func (r *Runner) Reached() map[int]ptxsim.Reach { return r.stats.Reached }

// A launch is a case in the memory of a device.
type launch struct {
	*Runner
	*Case
	entry   ptx.Entry
	grid    int
	sets    int
	dynamic int // bytes of shared memory
	regions []*region
	scratch *region // may be nil
	rest    []ptxsim.Ptr
	sig     abi.Signature
	args    abi.Args
}

// prepare puts the buffers on the device and packs the parameters.
func (r *Runner) prepare(c *Case) (*launch, error) {
	e, ok := r.entries[c.Kernel.Name]
	if !ok {
		return nil, fmt.Errorf("the module lists no kernel %s", c.Kernel.Name)
	}
	l := &launch{Runner: r, Case: c, entry: e, sig: e.Signature(), sets: max(1, min(r.way.Sets, c.sets))}
	switch n := cost.Value(e.Blocks, c.Scalars); {
	case c.Cells == 0:
	case n < 1:
		return nil, fmt.Errorf("%d blocks are said to be worth launching for %d cells", n, c.Cells)
	case r.way.Blocks == 0:
		l.grid = n
	default:
		l.grid = min(r.way.Blocks, max(n, c.Cells))
	}
	l.args.Sets = l.sets
	for set := range l.sets {
		for i := range l.way.Replicas {
			if err := c.replicate(set*Replicas + i); err != nil {
				return nil, err
			}
		}
		for i := range c.start[0] {
			if err := l.buffer(set, i); err != nil {
				return nil, err
			}
		}
	}
	l.args.Further = exampleStep
	for _, s := range l.sig.Scalars {
		l.args.Words = append(l.args.Words, c.Scalars.Bits(s))
	}
	var err error
	if e.Shapes {
		if l.args.Shapes, err = l.write(l.packShapes()); err != nil {
			return nil, err
		}
	}
	if e.Step {
		if l.args.Step, err = l.write(scalars.StepBlock(c.Scalars.Bits)); err != nil {
			return nil, err
		}
	}
	if e.Scratch != nil {
		return l, l.placeTiles()
	}
	return l, nil
}

// buffer places the replicas of a buffer parameter of a set.
func (l *launch) buffer(set, i int) error {
	n, stride := 1, 0
	if !l.shared(i) {
		n = l.way.Replicas
	}
	first := set * Replicas
	b := l.start[first][i]
	skew := l.way.Skew
	if i < len(l.entry.Aligned) && l.entry.Aligned[i] {
		skew = 0
	}
	g, err := l.place(len(b.Bytes()), kernel.Bytes(l.Kernel.Params[i].Type)*skew, n)
	if err != nil {
		return err
	}
	for r := range n {
		if l.Kernel.Params[i].Mode != kernel.Out {
			if err := g.write(r, l.start[first+r][i]); err != nil {
				return err
			}
		}
	}
	if n > 1 {
		stride = g.stride
	}
	l.regions = append(l.regions, g)
	l.args.Buffers = append(l.args.Buffers, abi.Buffer{At: uint64(g.at(0)), Stride: uint64(stride)})
	return nil
}

// spare is the unused end of a block's part of the scratch, so that an access beyond the tiles
// meets unused memory.
const spare = 256

const (
	mostShared  = 163 << 10 // bytes of shared memory that a block may have
	mostScratch = 8 << 20   // bytes of global scratch, which decide how many blocks are launched
)

// placeTiles packs the place of the tiles. Tiles too large for shared memory are always in global
// memory.
func (l *launch) placeTiles() error {
	size := cost.Value(l.entry.Scratch, l.Scalars)
	if size < 0 {
		return fmt.Errorf("a block is said to need %d bytes of tiles", size)
	}
	if !l.way.Global && size+l.entry.Static <= mostShared {
		l.dynamic = size
		l.args.Bytes = uint64(size)
		return nil
	}
	each := int(abi.ScratchBytes(int64(size))) + spare
	parts := l.way.Replicas * l.sets
	l.grid = min(l.grid, max(1, mostScratch/each/parts))
	p, err := l.alloc(each * l.grid * parts)
	if err != nil {
		return err
	}
	l.scratch = &region{device: l.device, base: p, size: size, stride: each, count: l.grid * parts}
	l.args.Scratch, l.args.Bytes = uint64(p), uint64(each)
	return l.scratch.mark()
}

// declared compares the parameters that an entry declares with its signature.
func (l *launch) declared(k *ptxsim.Kernel) error {
	var have, want []string
	buffers := len(l.start[0])
	for i, p := range k.Params() {
		if bytes := int64(l.sig.Sets * buffers * abi.RefBytes); i == 0 && l.sig.Sets > 1 && p.Size == bytes {
			buffers = 0
			continue
		}
		have = append(have, p.Type.String())
	}
	for _, t := range l.sig.Types(buffers) {
		want = append(want, t.PTX())
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("the entry declares parameters %v, its launch has %v", have, want)
	}
	return nil
}

// compare reads the buffers of all replicas in all sets.
func (l *launch) compare() error {
	var errs []error
	buffers := len(l.start[0])
	for set := range l.sets {
		regions := l.regions[set*buffers:][:buffers]
		for r := range l.way.Replicas {
			var got []kernel.Buffer
			for i, g := range regions {
				b, err := g.read(r%g.count, l.start[set*Replicas+r][i])
				if err != nil {
					return err
				}
				got = append(got, b)
			}
			errs = append(errs, l.Case.compare(set*Replicas+r, got))
		}
		for i, g := range regions {
			if err := g.intact(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", l.Kernel.Params[i].Name, err))
			}
		}
	}
	if l.scratch != nil {
		if err := l.scratch.intact(); err != nil {
			errs = append(errs, fmt.Errorf("scratch: %w", err))
		}
	}
	return errors.Join(errs...)
}

// packShapes packs the shapes of all replicas, the last one first.
func (l *launch) packShapes() []byte {
	var b []byte
	for replica := l.way.Replicas - 1; replica >= 0; replica-- {
		shape := abi.NewShape(replica, l.scalars(replica).Bits)
		b = shape.Append(b)
	}
	return b
}

// write allocates memory for data.
func (l *launch) write(data []byte) (at uint64, err error) {
	p, err := l.alloc(len(data))
	if err == nil {
		err = l.device.Write(p, data)
	}
	return uint64(p), err
}

func (l *launch) alloc(bytes int) (ptxsim.Ptr, error) {
	p, err := l.device.Alloc(int64(max(bytes, 1)))
	if err == nil {
		l.rest = append(l.rest, p)
	}
	return p, err
}

// free gives back all memory of the launch.
func (l *launch) free() {
	for _, p := range l.rest {
		if err := l.device.Free(p); err != nil {
			panic("BUG: " + err.Error())
		}
	}
}
