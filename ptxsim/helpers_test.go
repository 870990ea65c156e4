package ptxsim_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

var orders = []ptxsim.Order{ptxsim.RoundRobin, ptxsim.Reversed, ptxsim.Random, ptxsim.Greedy}

// job is a kernel with its arguments: the contents of buffers, and scalars.
type job struct {
	text   string
	kernel string
	grid   [3]int
	block  [3]int
	shared int
	args   []any // []byte: a buffer; out: an unwritten buffer of this size; uint32, uint64, float32, raw
}

// out is the size of a buffer that nothing writes before the launch.
type out int

// raw is a structure passed by value.
type raw []byte

// run launches a job on a new device and returns its buffers.
func (j job) run(o ptxsim.Options) ([][]byte, error) {
	bufs, _, err := j.stats(o)
	return bufs, err
}

func (j job) stats(o ptxsim.Options) ([][]byte, ptxsim.Stats, error) {
	d := ptxsim.New(o)
	m, err := d.Load([]byte(j.text))
	if err != nil {
		return nil, ptxsim.Stats{}, err
	}
	k, err := m.Kernel(j.kernel)
	if err != nil {
		return nil, ptxsim.Stats{}, err
	}
	var ptrs []ptxsim.Ptr
	var sizes []int
	var args []byte
	word := func(v uint64, n int) {
		for len(args)%n != 0 {
			args = append(args, 0)
		}
		args = append(args, binary.LittleEndian.AppendUint64(nil, v)[:n]...)
	}
	for _, a := range j.args {
		switch a := a.(type) {
		case uint32:
			word(uint64(a), 4)
		case float32:
			word(uint64(math.Float32bits(a)), 4)
		case uint64:
			word(a, 8)
		case raw:
			for len(args)%8 != 0 {
				args = append(args, 0)
			}
			args = append(args, a...)
		case []byte, out:
			data, _ := a.([]byte)
			size := len(data)
			if n, ok := a.(out); ok {
				size = int(n)
			}
			p, err := d.Alloc(int64(size))
			if err != nil {
				return nil, ptxsim.Stats{}, err
			}
			if data != nil {
				if err := d.Write(p, data); err != nil {
					return nil, ptxsim.Stats{}, err
				}
			}
			ptrs, sizes = append(ptrs, p), append(sizes, size)
			word(uint64(p), 8)
		}
	}
	for i, n := range j.grid {
		if n == 0 {
			j.grid[i] = 1
		}
	}
	for i, n := range j.block {
		if n == 0 {
			j.block[i] = 1
		}
	}
	st, err := k.Launch(ptxsim.Launch{Grid: j.grid, Block: j.block, Shared: j.shared, Args: args})
	if err != nil {
		return nil, st, err
	}
	var bufs [][]byte
	for i, p := range ptrs {
		b := make([]byte, sizes[i])
		if err := d.Read(b, p); err != nil {
			var un *ptxsim.UninitialisedError
			if !errors.As(err, &un) || !o.NoInit {
				return nil, st, err
			}
		}
		bufs = append(bufs, b)
	}
	return bufs, st, nil
}

// must runs a job that has no mistake.
func (j job) must(t *testing.T, o ptxsim.Options) [][]byte {
	t.Helper()
	bufs, err := j.run(o)
	if err != nil {
		t.Fatal(err)
	}
	return bufs
}

// text returns the PTX of a kernel in testdata.
func text(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".ptx"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// snippet returns a module with a body that stores to the array out.
func snippet(body string) string {
	return `.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
	.reg .pred %p<8>;
	.reg .b16 %h<8>;
	.reg .b32 %r<32>;
	.reg .f32 %f<16>;
	.reg .b64 %rd<16>;
	.reg .f64 %d<8>;
	.shared .align 16 .b8 sh[1024];
	ld.param.u64 %rd0, [out];
	ld.param.u64 %rd1, [in];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd2, %r0, 4;
	add.s64 %rd3, %rd0, %rd2;
	add.s64 %rd4, %rd1, %rd2;
	shl.b32 %r1, %r0, 2;
	mov.u32 %r2, sh;
	add.s32 %r3, %r2, %r1;
` + body + `
	ret;
}
`
}

// runSnippet runs a body in blocks of so many threads.
func runSnippet(o ptxsim.Options, body string, blocks, threads int, in []byte) ([]uint32, error) {
	if in == nil {
		in = words(make([]uint32, 4096)...)
	}
	zero := make([]byte, 4*max(threads, 1024))
	bufs, err := job{text: snippet(body), kernel: "k", grid: [3]int{blocks}, block: [3]int{threads}, args: []any{zero, in}}.run(o)
	if err != nil {
		return nil, err
	}
	return unwords(bufs[0]), nil
}

// wantKind fails unless err is a report of this kind at the line of the snippet that contains a
// text.
func wantKind(t *testing.T, err error, kind ptxsim.Kind, src, at string) {
	t.Helper()
	var r *ptxsim.Report
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a report: %s", err, kind)
	}
	if r.Kind != kind {
		t.Fatalf("got %v, want a report: %s", err, kind)
	}
	if at == "" {
		return
	}
	lines := strings.Split(src, "\n")
	if r.Line < 1 || r.Line > len(lines) || !strings.Contains(lines[r.Line-1], at) {
		t.Errorf("%v: want the line with %q", err, at)
	}
}

func words(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func unwords(b []byte) (v []uint32) {
	for ; len(b) >= 4; b = b[4:] {
		v = append(v, binary.LittleEndian.Uint32(b))
	}
	return v
}

func floats(v ...float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func unfloats(b []byte) (v []float32) {
	for _, w := range unwords(b) {
		v = append(v, math.Float32frombits(w))
	}
	return v
}
