// Package peak measures the highest rates of a GPU: fused multiply-adds in registers, and bytes
// copied in its memory. A kernel's share of the peak refers to these rates, since no kernel
// reaches the data sheet's.
//
// Package cuda provides the driver. The verb bench and mlc prove compare kernels with these rates.
package peak

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
)

// A Peak is the measured rates. A rate is 0 if the device's clock does not advance.
type Peak struct {
	Flops  float64 `json:"flops_per_second"`                  // of fp32; a fused multiply-add counts as two
	Narrow float64 `json:"narrow_flops_per_second,omitempty"` // of bf16 products on tensor cores, by mma.sync
	TF32   float64 `json:"tf32_flops_per_second,omitempty"`   // of TF32 products on tensor cores
	Bytes  float64 `json:"bytes_per_second"`                  // copied within the device's memory; reads and writes both count
}

// The sizes of the probes.
const (
	threads = 256 // of a block
	warp    = 32

	coreChains = 4   // accumulators of a warp; more do not fit with all threads resident
	chains     = 8   // accumulators of a thread: more than enough to hide the latency
	links      = 128 // multiply-adds of a thread per iteration, so that the loop costs little
	products   = 32  // products on tensor cores, of a warp per iteration
	vector     = 16  // bytes
	vectors    = 4   // copied by a thread
	tile       = threads * vector * vectors
	fullSM     = 2048 // threads, if the driver does not tell
	maxTurns   = 1 << 14
	maxCopied  = 1 << 30 // bytes
	memoryPart = 4       // each end of a copy takes at most this part of the free memory
)

const (
	longEnough = 10 * time.Millisecond // much longer than a kernel takes to start
	repeats    = 5
)

// Measure takes a tenth of a second on a GPU. The simulator is so slow that only the smallest
// probes run. Measure frees the memory that it allocates.
func Measure(d cuda.Driver) (p Peak, err error) {
	m, err := d.Load(source())
	if err != nil {
		return p, fmt.Errorf("measure what the GPU does at best: %w", err)
	}
	defer release(&err, m.Unload)
	if p.Flops, err = arithmetic(d, m, "multiply_add", 2*links*threads); err != nil {
		return p, fmt.Errorf("measure the peak of arithmetic: %w", err)
	}
	for i, c := range cores() {
		if *[]*float64{&p.Narrow, &p.TF32}[i], err = arithmetic(d, m, c.name, 2*16*8*c.depth*products*threads/warp); err != nil {
			return p, fmt.Errorf("measure the peak of tensor cores: %w", err)
		}
	}
	if p.Bytes, err = bandwidth(d, m); err != nil {
		return p, fmt.Errorf("measure the peak of copying: %w", err)
	}
	return p, nil
}

// arithmetic measures a kernel whose blocks do each operations per iteration. It first raises the
// number of blocks until they fill the device, and then the number of iterations.
func arithmetic(d cuda.Driver, m cuda.Module, kernel string, each float64) (rate float64, err error) {
	f, err := m.Function(kernel)
	if err != nil {
		return 0, err
	}
	i := d.Info()
	sm := cmp.Or(i.SMThreads, fullSM)
	full := max(i.SMs*sm/threads, 1)
	out, err := d.Alloc(int64(full) * threads * 4)
	if err != nil {
		return 0, err
	}
	defer release(&err, func() error { return d.Free(out) })
	return grow(d, full*maxTurns, func(n int) (float64, func() error, error) {
		blocks, iterations := min(n, full), max(n/full, 1)
		args := binary.LittleEndian.AppendUint64(nil, uint64(out))
		args = binary.LittleEndian.AppendUint32(args, uint32(iterations))
		args = binary.LittleEndian.AppendUint32(args, math.Float32bits(0.999)) // the sum tends to 1: neither infinite nor denormal
		args = binary.LittleEndian.AppendUint32(args, math.Float32bits(0.001))
		work := each * float64(blocks) * float64(iterations)
		return work, func() error { return f.Launch([3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, 0, args) }, nil
	})
}

// bandwidth measures copies of growing size, since small ones stay in a cache.
func bandwidth(d cuda.Driver, m cuda.Module) (rate float64, err error) {
	f, err := m.Function("copy_tiles")
	if err != nil {
		return 0, err
	}
	free, _, err := d.MemInfo()
	if err != nil {
		return 0, err
	}
	var ends [2]cuda.Ptr
	empty := func() error {
		err := errors.Join(d.Free(ends[0]), d.Free(ends[1]))
		ends = [2]cuda.Ptr{}
		return err
	}
	defer release(&err, empty)
	return grow(d, int(max(min(free/memoryPart, maxCopied)/tile, 1)), func(tiles int) (float64, func() error, error) {
		bytes := int64(tiles) * tile
		if err := empty(); err != nil {
			return 0, nil, err
		}
		for i := range ends {
			var err error
			if ends[i], err = d.Alloc(bytes); err != nil {
				return 0, nil, err
			}
		}
		args := binary.LittleEndian.AppendUint64(nil, uint64(ends[0]))
		args = binary.LittleEndian.AppendUint64(args, uint64(ends[1]))
		launch := func() error { return f.Launch([3]int{tiles, 1, 1}, [3]int{threads, 1, 1}, 0, args) }
		return 2 * float64(bytes), launch, d.Zero(ends[1], bytes)
	})
}

// grow doubles n until a launch takes long enough or n is most. It repeats that launch and returns
// the fastest one's work per second. prepare returns a launch for n, and its work.
func grow(d cuda.Driver, most int, prepare func(n int) (work float64, launch func() error, err error)) (rate float64, err error) {
	start, err := d.NewEvent()
	if err != nil {
		return 0, err
	}
	defer release(&err, start.Close)
	end, err := d.NewEvent()
	if err != nil {
		return 0, err
	}
	defer release(&err, end.Close)
	once := func(launch func() error) (time.Duration, error) {
		if err := errors.Join(start.Record(), launch(), end.Record()); err != nil {
			return 0, err
		}
		return end.Since(start)
	}
	for n := 1; ; n = min(2*n, most) {
		work, launch, err := prepare(n)
		if err != nil {
			return 0, err
		}
		took, err := once(launch)
		if err != nil {
			return 0, err
		}
		if took < longEnough && n < most {
			continue
		}
		for range repeats - 1 {
			again, err := once(launch)
			if err != nil {
				return 0, err
			}
			took = min(took, again)
		}
		if took <= 0 {
			return 0, nil
		}
		return work / took.Seconds(), nil
	}
}

// release ends something and sets err if it was nil: a lost device returns its first error again.
func release(err *error, end func() error) {
	if failed := end(); *err == nil {
		*err = failed
	}
}

// source returns the probes as PTX.
func source() string {
	var load, store strings.Builder
	for i := range vectors {
		at := i * threads * vector
		fmt.Fprintf(&load, "\tld.global.v4.u32 {%%v%d, %%v%d, %%v%d, %%v%d}, [%%src+%d];\n", 4*i, 4*i+1, 4*i+2, 4*i+3, at)
		fmt.Fprintf(&store, "\tst.global.v4.u32 [%%dst+%d], {%%v%d, %%v%d, %%v%d, %%v%d};\n", at, 4*i, 4*i+1, 4*i+2, 4*i+3)
	}
	text := header + scalar()
	for _, c := range cores() {
		text += c.source()
	}
	return text + fmt.Sprintf(copyTiles, tile, vector, load.String(), store.String())
}

// scalar returns a probe with chains of multiply-adds.
func scalar() string {
	var initial, loop strings.Builder
	for i := range chains {
		fmt.Fprintf(&initial, "\tadd.f32 %%a%d, %%f, 0f%08X;\n", i, math.Float32bits(float32(i)))
	}
	for i := range links {
		fmt.Fprintf(&loop, "\tfma.rn.f32 %%a%d, %%a%[1]d, %%x, %%y;\n", i%chains)
	}
	return arithmeticOf("multiply_add", chains, initial.String(), loop.String())
}

// A core is a probe with chains of products of 16 x depth by depth x 8 matrices on tensor cores.
type core struct {
	name     string
	depth    float64
	multiply string // the instruction
	factors  string // sets %pair, all factors, from x and y
}

func cores() []core {
	return []core{
		{"multiply_narrow", 16, "m16n8k16.row.col.f32.bf16.bf16.f32", "cvt.rn.bf16x2.f32 %pair, %x, %y"},
		{"multiply_tf32", 8, "m16n8k8.row.col.f32.tf32.tf32.f32", "mov.b32 %pair, %x"},
	}
}

func (c core) source() string {
	var initial, loop strings.Builder
	fmt.Fprintf(&initial, "\t%s;\n\tmov.f32 %%f, 0f00000000;\n", c.factors)
	for i := range coreChains {
		var acc []string
		for r := range 4 {
			acc = append(acc, fmt.Sprintf("%%a%d", 4*i+r))
			fmt.Fprintf(&initial, "\tmov.f32 %s, 0f00000000;\n", acc[r])
		}
		for range products / coreChains {
			d := "{" + strings.Join(acc, ", ") + "}"
			fmt.Fprintf(&loop, "\tmma.sync.aligned.%s %s, {%%pair, %%pair, %%pair, %%pair}, {%%pair, %%pair}, %[2]s;\n", c.multiply, d)
		}
	}
	return arithmeticOf(c.name, 4*coreChains, initial.String(), loop.String())
}

// arithmeticOf returns a kernel that runs a loop on accumulators %a0, … and writes their sum, so
// that no compiler drops them.
func arithmeticOf(name string, accumulators int, initial, loop string) string {
	var sum strings.Builder
	for i := range accumulators {
		fmt.Fprintf(&sum, "\tadd.f32 %%f, %%f, %%a%d;\n", i)
	}
	return fmt.Sprintf(arithmeticText, name, accumulators, initial, loop, sum.String())
}

const header = `.version 7.8
.target sm_80
.address_size 64
`

const arithmeticText = `
.visible .entry %s(.param .u64 out, .param .u32 iterations, .param .f32 x, .param .f32 y)
.reqntid 256
{
	.reg .pred %%more;
	.reg .b32 %%turn, %%thread, %%block, %%pair;
	.reg .b64 %%out, %%offset;
	.reg .f32 %%f, %%x, %%y, %%a<%d>;
	ld.param.u32 %%turn, [iterations];
	ld.param.f32 %%x, [x];
	ld.param.f32 %%y, [y];
	mov.u32 %%thread, %%tid.x;
	cvt.rn.f32.u32 %%f, %%thread;
%sLOOP:
%s	sub.u32 %%turn, %%turn, 1;
	setp.ne.u32 %%more, %%turn, 0;
	@%%more bra LOOP;
%s	mov.u32 %%block, %%ctaid.x;
	mad.lo.u32 %%thread, %%block, 256, %%thread;
	mul.wide.u32 %%offset, %%thread, 4;
	ld.param.u64 %%out, [out];
	add.u64 %%out, %%out, %%offset;
	st.global.f32 [%%out], %%f;
	ret;
}
`

// copyTiles is a kernel whose blocks copy a tile each.
const copyTiles = `
.visible .entry copy_tiles(.param .u64 dst, .param .u64 src)
.reqntid 256
{
	.reg .b32 %%thread, %%block, %%v<16>;
	.reg .b64 %%dst, %%src, %%offset, %%inner;
	mov.u32 %%block, %%ctaid.x;
	mov.u32 %%thread, %%tid.x;
	mul.wide.u32 %%offset, %%block, %d;
	mul.wide.u32 %%inner, %%thread, %d;
	add.u64 %%offset, %%offset, %%inner;
	ld.param.u64 %%dst, [dst];
	ld.param.u64 %%src, [src];
	add.u64 %%dst, %%dst, %%offset;
	add.u64 %%src, %%src, %%offset;
%s%s	ret;
}
`
