package ptxtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// lines is a kernel with a part of everything that a launch can have.
const lines = `kernel pairs map
	in    x f32[N, 2]
	in    bias f32[2]
	out   y f32[N]
	scalar N, example, scale
	grid  n < N
	tile   a f32[2]
	tile   b f32[2]
	set    a[i] = x[n, i]
	set    b[i] = bias[i]
	set y[n] = a[0] * b[1] + f32(as_i32(example)) * scale
	end`

// text is the same by hand: thread 0 loads, thread 1 stores.
const text = `.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 tiles[];
.visible .entry pairs(.param .u64 x, .param .u64 xs, .param .u64 b, .param .u64 bs, .param .u64 y, .param .u64 ys,
	.param .u32 N, .param .u32 e, .param .u32 es, .param .u64 step, .param .u64 room, .param .u64 bytes) .reqntid 64
{
	.reg .pred %p<4>;
	.reg .b32 %r<16>;
	.reg .f32 %f<8>;
	.reg .b64 %d<32>;
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %nctaid.x;
	mov.u32 %r2, %ctaid.y;
	mov.u32 %r3, %tid.x;
	cvt.u64.u32 %d0, %r2;
	ld.param.u64 %d1, [x];
	ld.param.u64 %d2, [xs];
	mad.lo.u64 %d1, %d2, %d0, %d1;
	ld.param.u64 %d3, [b];
	ld.param.u64 %d4, [bs];
	mad.lo.u64 %d3, %d4, %d0, %d3;
	ld.param.u64 %d5, [y];
	ld.param.u64 %d6, [ys];
	mad.lo.u64 %d5, %d6, %d0, %d5;
	ld.param.u32 %r4, [N];
	ld.param.u32 %r5, [e];
	ld.param.u32 %r6, [es];
	mad.lo.u32 %r5, %r6, %r2, %r5;
	ld.param.u64 %d7, [step];
	ld.global.f32 %f0, [%d7+12];
	ld.param.u64 %d8, [room];
	ld.param.u64 %d9, [bytes];
	setp.ne.u64 %p0, %d8, 0;
	@%p0 bra scratch;
	mov.u64 %d10, tiles;
	cvta.shared.u64 %d10, %d10;
	bra.uni placed;
scratch:
	mad.lo.u32 %r7, %r2, %r1, %r0;
	cvt.u64.u32 %d11, %r7;
	mad.lo.u64 %d10, %d11, %d9, %d8;
placed:
	setp.ge.s32 %p1, %r0, %r4;
	@%p1 bra done;
	mul.wide.u32 %d12, %r0, 8;
	add.u64 %d12, %d1, %d12;
	mul.wide.u32 %d13, %r0, 4;
	add.u64 %d13, %d5, %d13;
	setp.ne.u32 %p2, %r3, 0;
	@%p2 bra loaded;
	ld.global.f32 %f1, [%d12];
	ld.global.f32 %f2, [%d3+4];
	mul.rn.f32 %f3, %f1, %f2;
	st.f32 [%d10], %f3;
loaded:
	bar.sync 0;
	setp.ne.u32 %p3, %r3, 33;
	@%p3 bra stored;
	ld.f32 %f4, [%d10];
	cvt.rn.f32.s32 %f5, %r5;
	mul.rn.f32 %f5, %f5, %f0;
	add.rn.f32 %f4, %f4, %f5;
	st.global.f32 [%d13], %f4;
stored:
	bar.sync 0;
	add.u32 %r0, %r0, %r1;
	bra.uni placed;
done:
	ret;
}
`

func output(text string) ptx.Output {
	return ptx.Output{Text: []byte(text), Kernels: []ptx.Entry{{
		Name: "pairs", Launch: emit.Launch{
			Threads: 64, Scalars: []string{"N", "example"}, Step: true,
			Blocks: expr.NewVar("N", expr.I32), Scratch: expr.Int(4),
		}}}}
}

// verdict runs the text every way and returns the first error.
func verdict(t *testing.T, out ptx.Output) error {
	t.Helper()
	ks, err := kernel.Parse(lines)
	if err != nil {
		t.Fatal(err)
	}
	var runs []*Runner
	for _, w := range Ways() {
		r, err := Load(out, w)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	for i, s := range kerneltest.Launches() {
		if err := compare(ks[0], s, kerneltest.Signed, uint64(i), runs); err != nil {
			return err
		}
	}
	return nil
}

// TestFinds edits a right kernel and wants each mistake found.
func TestFinds(t *testing.T) {
	if err := verdict(t, output(text)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"barrier before the load", "loaded:\n\tbar.sync 0;", "loaded:", "data race"},
		{"barrier behind the load", "stored:\n\tbar.sync 0;", "stored:", "data race"},
		{"value", "[%d3+4]", "[%d3]", "elements differ"},
		{"bound", "setp.ge.s32 %p1", "setp.gt.s32 %p1", "uninitialised memory"},
		{"stride over cells", "add.u32 %r0, %r0, %r1", "add.u32 %r0, %r0, 1", "data race"},
		{"replica of an input", "mad.lo.u64 %d1, %d2, %d0, %d1;", "", "replica 1: y: "},
		{"replica of a result", "mad.lo.u64 %d5, %d6, %d0, %d5;", "", "data race"},
		{"replica of the examples", "mad.lo.u32 %r5, %r6, %r2, %r5;", "", "replica 1: y: "},
		{"shared input", "ld.param.u64 %d4, [bs]", "ld.param.u64 %d4, [xs]", "out of bounds"},
		{"step's scalar", "[%d7+12]", "[%d7+16]", "elements differ"},
		{"step's block", "[%d7+12]", "[%d7+32]", "out of bounds"},
		{"scratch of a block", "mad.lo.u64 %d10, %d11, %d9, %d8", "mov.u64 %d10, %d8", "data race"},
		{"scratch of a replica", "mad.lo.u32 %r7, %r2, %r1, %r0", "mov.u32 %r7, %r0", "data race"},
		{"alignment", "ld.global.f32 %f1, [%d12];", "ld.global.v2.f32 {%f1, %f6}, [%d12];", "misaligned"},
		{"parameter", ".param .u32 N,", ".param .f32 N,", "declares parameters"},
		{"missing store", "setp.ne.u32 %p3, %r3, 33", "setp.ne.u32 %p3, %r3, 64", "elements differ"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(text, c.old) != 1 {
				t.Fatalf("%q is there %d times", c.old, strings.Count(text, c.old))
			}
			err := verdict(t, output(strings.Replace(text, c.old, c.new, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestFindsEntries edits the entry of a right kernel.
func TestFindsEntries(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(e *ptx.Entry)
		want string
	}{
		{"name", func(e *ptx.Entry) { e.Name = "pair" }, "lists no kernel pairs"},
		{"threads", func(e *ptx.Entry) { e.Threads = 32 }, "made for"},
		{"scalars", func(e *ptx.Entry) { e.Scalars = []string{"N"} }, "declares parameters"},
		{"order", func(e *ptx.Entry) { e.Scalars = []string{"example", "N"} }, "order 0"},
		{"step", func(e *ptx.Entry) { e.Step = false }, "declares parameters"},
		{"blocks", func(e *ptx.Entry) { e.Blocks = expr.Int(0) }, "0 blocks are said to be worth launching for 1 cells"},
		{"no scratch", func(e *ptx.Entry) { e.Scratch = expr.Int(0) }, "out of bounds"},
		{"scratch", func(e *ptx.Entry) { e.Scratch = expr.Int(2) }, "out of bounds"},
		{"too much room for shared memory", func(e *ptx.Entry) { e.Scratch = expr.Int(200 << 10) }, "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := output(text)
			c.edit(&out.Kernels[0])
			if err := verdict(t, out); !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestFindsBeyondScratch has a kernel that writes beyond its tiles where all of
// the scratch is one allocation.
func TestFindsBeyondScratch(t *testing.T) {
	far := strings.Replace(text, "\tst.f32 [%d10], %f3;", "\tst.f32 [%d10], %f3;\n\tst.f32 [%d10+64], %f3;", 1)
	ks, err := kernel.Parse(lines)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Load(output(far), Way{Global: true, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCase(ks[0], kerneltest.Launches()[1], kerneltest.Signed, 1, ptx.Entry{Launch: emit.Launch{Sets: 1}}, 80)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(c); err == nil || !strings.Contains(err.Error(), "scratch: byte 64") {
		t.Error(err)
	}
}

// TestFindsWarnings has threads exchange a value through volatile memory instead of at a
// barrier, which is right in some orders and no race.
func TestFindsWarnings(t *testing.T) {
	hasty := strings.NewReplacer("st.f32 [%d10]", "st.volatile.f32 [%d10]", "ld.f32 %f4", "ld.volatile.f32 %f4", "loaded:\n\tbar.sync 0;", "loaded:").Replace(text)
	if err := verdict(t, output(hasty)); err == nil || !strings.Contains(err.Error(), "unordered accesses") {
		t.Errorf("got %v, want a warning as an error", err)
	}
}
