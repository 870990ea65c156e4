package probe

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/arithlang/mlc/runtime/cuda"
)

const (
	manyLaunches = 1000
	fewLaunches  = 5
	graphKernels = 100 // in a graph
)

// runLatency launches a kernel that counts, alone and in graphs, and checks the count.
func runLatency(b *bench) (err error) {
	f, unload, err := b.function(tick, "tick")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unload()) }()
	count, err := b.Alloc(4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free(count)) }()
	if err := b.Zero(count, 4); err != nil {
		return err
	}
	done := uint32(0)
	args := binary.LittleEndian.AppendUint64(nil, uint64(count))
	launch := func(n int) func() error {
		return func() error {
			for range n {
				if err := f.Launch([3]int{1, 1, 1}, [3]int{32, 1, 1}, 0, args); err != nil {
					return err
				}
				done++
			}
			return nil
		}
	}
	nodes := b.pick(graphKernels, fewLaunches)
	before := done
	graph, err := b.Capture(launch(nodes))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, graph.Close()) }()
	done = before // nothing has run
	many := b.pick(manyLaunches, fewLaunches)
	for _, m := range []struct {
		name string
		n    int
		by   clock
		call func() error
	}{
		{"a launch, for the host", many, b.host, launch(many)},
		{"a launch, from one to the next", many, b.device, launch(many)},
		{"a kernel of a graph, from one to the next", nodes, b.device, replay(graph, 1, nodes, &done)},
		{"a launch of a graph, for the host", many / 5, b.host, replay(graph, many/5, nodes, &done)},
		{"a launch and waiting for it", 1, b.host, func() error { return errors.Join(launch(1)(), b.Synchronize()) }},
		{"waiting for nothing", 1, b.host, b.Synchronize},
	} {
		if err := b.latency(m.name, m.n, m.by, m.call); err != nil {
			return err
		}
	}
	var got [4]byte
	if err := b.ToHost(got[:], count); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint32(got[:]); n != done {
		return fmt.Errorf("launches are wrong: a kernel should have run %d times but ran %d times", done, n)
	}
	return nil
}

// replay launches a graph n times and counts its kernels.
func replay(g cuda.Graph, n, nodes int, done *uint32) func() error {
	return func() error {
		for range n {
			if err := g.Launch(); err != nil {
				return err
			}
			*done += uint32(nodes)
		}
		return nil
	}
}

// tick adds 1 to a word.
const tick = `.version 7.8
.target sm_80
.address_size 64

.visible .entry tick(.param .u64 count)
.reqntid 32
{
	.reg .pred %other;
	.reg .b32 %thread, %n;
	.reg .b64 %count;
	mov.u32 %thread, %tid.x;
	setp.ne.u32 %other, %thread, 0;
	@%other bra END;
	ld.param.u64 %count, [count];
	ld.global.u32 %n, [%count];
	add.u32 %n, %n, 1;
	st.global.u32 [%count], %n;
END:
	ret;
}
`
