package fragment

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Options select the inputs and the probes to record.
type Options struct {
	Seed uint64 // of the inputs
	// Cases is the number of threads that run each probe; 0 means 2048. A matrix product is one
	// case of 32 or 128 threads, with as many results as it has elements. Probes with many
	// results run a fraction of the cases.
	Cases int
	Only  []string // names of probes and groups; none means all
}

// Record runs the probes that a device supports. A probe that fails is recorded with its error,
// and the others continue. The error is an error of the options or the context, or means that the
// device is lost, unless the probe claims to lose it. It comes with the recording so far, which
// ends with the probe that lost the device.
func Record(ctx context.Context, d cuda.Driver, o Options) (*Recording, error) {
	probes, err := choose(o.Only)
	if err != nil {
		return nil, err
	}
	o.Cases = cmp.Or(o.Cases, 2048)
	if o.Cases < 0 || o.Cases > mostThreads {
		return nil, fmt.Errorf("%d cases of each probe: want 1 to %d", o.Cases, mostThreads)
	}
	info := d.Info()
	r := &Recording{Card: info.Name, Driver: info.Version, Capability: fmt.Sprintf("%d.%d", info.Major, info.Minor),
		Seed: o.Seed, Inputs: map[string][]byte{}}
	for _, p := range probes {
		if !p.runsOn(info) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return r, fmt.Errorf("before probe %s: %w", p.Name, err)
		}
		one := p.prepare(r, o)
		one.Outputs, err = run(d, one, r.Inputs[one.Inputs])
		e := (*cuda.Error)(nil)
		lost := errors.As(err, &e) && e.Lost()
		if err != nil {
			one.Error, one.Outputs, one.Refused = err.Error(), nil, lost && e.Code == cuda.IllegalInstruction
		}
		r.Probes = append(r.Probes, one)
		if lost && !(one.Refused && p.Claim == Refused) {
			return r, fmt.Errorf("probe %s: %w", p.Name, err)
		}
	}
	return r, nil
}

// prepare describes a probe, and draws its inputs unless another probe has drawn them.
func (p *Probe) prepare(r *Recording, o Options) *Recorded {
	cases := p.cases(o.Cases)
	one := &Recorded{Name: p.Name, Group: p.Group, Doc: p.Doc, PTX: p.PTX(), Threads: p.Threads, Cases: cases,
		In: p.In, Out: p.Out, Inputs: p.inputs(cases), Box: p.box}
	if r.Inputs[one.Inputs] == nil {
		r.Inputs[one.Inputs] = p.drawn(o.Seed, one)
	}
	return one
}

// drawn draws the inputs of all cases, as they are stored in memory.
func (p *Probe) drawn(seed uint64, one *Recorded) []byte {
	s := newSource(seed, one.Inputs)
	_, bytes := layout(p.In, p.Threads)
	mem := make([]byte, one.Cases*bytes)
	for number := range one.Cases {
		in := make([][]uint64, len(p.In))
		for k := range in {
			in[k] = make([]uint64, p.Threads)
		}
		p.draw.fill(p, s, number, in)
		write(mem[number*bytes:], p.In, p.Threads, in)
	}
	return mem
}

// write stores operands in the memory of a case.
func write(mem []byte, ts []Type, threads int, values [][]uint64) {
	at, _ := layout(ts, threads)
	for k, t := range ts {
		for thread, x := range values[k] {
			if n := t.bytes(); n == 8 {
				binary.LittleEndian.PutUint64(mem[at[k]+8*thread:], x)
			} else {
				binary.LittleEndian.PutUint32(mem[at[k]+4*thread:], uint32(x))
			}
		}
	}
}

// read loads operands from the memory of a case.
func read(mem []byte, ts []Type, threads int) [][]uint64 {
	at, _ := layout(ts, threads)
	values := make([][]uint64, len(ts))
	for k, t := range ts {
		values[k] = make([]uint64, threads)
		for thread := range threads {
			if n := t.bytes(); n == 8 {
				values[k][thread] = binary.LittleEndian.Uint64(mem[at[k]+8*thread:])
			} else {
				values[k][thread] = uint64(binary.LittleEndian.Uint32(mem[at[k]+4*thread:]))
			}
		}
	}
	return values
}

// run loads the PTX of a probe and runs all its cases in one launch.
func run(d cuda.Driver, one *Recorded, inputs []byte) (outputs []byte, err error) {
	m, err := d.Load(one.PTX)
	if err != nil {
		return nil, err
	}
	keep := func(later error) { // the first error says why
		if err == nil {
			err = later
		}
	}
	defer func() { keep(m.Unload()) }()
	f, err := m.Function("probe")
	if err != nil {
		return nil, err
	}
	outputs = make([]byte, one.outputBytes())
	in, err := d.Alloc(int64(len(inputs)))
	if err != nil {
		return nil, err
	}
	defer func() { keep(d.Free(in)) }()
	out, err := d.Alloc(int64(len(outputs)))
	if err != nil {
		return nil, err
	}
	defer func() { keep(d.Free(out)) }()
	if err := d.ToDevice(in, inputs); err != nil {
		return nil, err
	}
	if err := d.Zero(out, int64(len(outputs))); err != nil {
		return nil, err
	}
	args := binary.LittleEndian.AppendUint64(nil, uint64(in))
	args = binary.LittleEndian.AppendUint64(args, uint64(out))
	if one.Box != nil {
		at, err := describe(d, one.Box.tensor(in, len(inputs)))
		if err != nil {
			return nil, err
		}
		defer func() { keep(d.Free(at)) }()
		args = binary.LittleEndian.AppendUint64(args, uint64(at))
	}
	grid, block := one.grid()
	if err := f.Launch([3]int{grid, 1, 1}, [3]int{block, 1, 1}, 0, args); err != nil {
		return nil, err
	}
	if err := d.ToHost(outputs, out); err != nil {
		return nil, err
	}
	return outputs, d.Synchronize()
}

// describe stores the descriptor of a tensor in its own memory. It is not a kernel parameter: the
// assembler aligns a parameter of 64 bytes by its address among the GPU's constants. On sm_90
// these begin at 0x210, so the descriptor would be 48 bytes after the first parameter. A launch
// whose parameters have another size fails for lack of resources.
func describe(d cuda.Driver, x cuda.Tensor) (at cuda.Ptr, err error) {
	describer, ok := d.(cuda.Describer)
	if !ok {
		return 0, errors.New("this driver does not describe tensors")
	}
	descriptor, err := describer.Describe(x)
	if err != nil {
		return 0, err
	}
	if at, err = d.Alloc(int64(len(descriptor))); err != nil {
		return 0, err
	}
	if err := d.ToDevice(at, descriptor[:]); err != nil {
		return 0, errors.Join(err, d.Free(at))
	}
	return at, nil
}

// grid returns the number of blocks, and of threads in a block, for all cases.
func (one *Recorded) grid() (blocks, threads int) {
	if one.Threads == 1 {
		return one.Cases / warp, warp
	}
	return one.Cases, one.Threads
}
