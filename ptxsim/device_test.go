package ptxsim_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want an error with %q", err, text)
	}
}

func TestMemory(t *testing.T) {
	d := ptxsim.New(ptxsim.Options{Memory: 1000})
	p, err := d.Alloc(600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Alloc(500)
	wantError(t, err, "asked for 500 bytes, 400 of 1000 are free")
	_, err = d.Alloc(0)
	wantError(t, err, "cannot allocate 0")
	wantError(t, d.Write(p, make([]byte, 601)), "601 bytes at offset 0 of an allocation of 600")
	wantError(t, d.Write(p+599, make([]byte, 2)), "offset 599")
	wantError(t, d.Write(12345, make([]byte, 2)), "nothing is allocated")

	if err := d.Write(p+8, []byte{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if err := d.Read(got, p+8); err != nil || string(got) != "\x01\x02\x03" {
		t.Errorf("read %v, %v", got, err)
	}
	var un *ptxsim.UninitialisedError
	if err := d.Read(got, p+9); !errors.As(err, &un) || un.Offset != 11 {
		t.Errorf("read of unwritten bytes: %v", err)
	}

	wantError(t, d.Free(p+8), "Alloc did not give")
	if err := d.Free(p); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.Free(p), "freed twice")
	wantError(t, d.Write(p, got), "nothing is allocated")
	if _, err := d.Alloc(1000); err != nil {
		t.Errorf("memory that was freed is not free: %v", err)
	}
}

// TestFreed checks that a kernel cannot use freed memory.
func TestFreed(t *testing.T) {
	d := ptxsim.New(ptxsim.Options{})
	src := snippet("st.global.u32 [%rd3], 1;")
	m, err := d.Load([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	k, _ := m.Kernel("k")
	p, _ := d.Alloc(1024)
	args := append(words(uint32(p), uint32(p>>32)), make([]byte, 8)...)
	launch := ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Args: args}
	if _, err := k.Launch(launch); err != nil {
		t.Fatal(err)
	}
	if err := d.Free(p); err != nil {
		t.Fatal(err)
	}
	_, err = k.Launch(launch)
	wantKind(t, err, ptxsim.OutOfBounds, src, "st.global")
	wantError(t, err, "freed")
}

func TestLaunchErrors(t *testing.T) {
	src := strings.Replace(snippet(""), "(.param .u64 out, .param .u64 in)", "(.param .u64 out, .param .u64 in) .maxntid 128, 1, 1", 1)
	d := ptxsim.New(ptxsim.Options{})
	m, err := d.Load([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Kernel("other"); err == nil {
		t.Error("a kernel that is not there is found")
	}
	k, _ := m.Kernel("k")
	if p := k.Params(); len(p) != 2 || p[1].Name != "in" || p[1].Type.String() != "u64" || p[1].Offset != 8 || p[1].Size != 8 {
		t.Errorf("parameters %v", p)
	}
	one := [3]int{1, 1, 1}
	for want, l := range map[string]ptxsim.Launch{
		"0 is not between":                 {Grid: [3]int{1, 0, 1}, Block: one, Args: make([]byte, 16)},
		"block [1 1 65]":                   {Grid: one, Block: [3]int{1, 1, 65}, Args: make([]byte, 16)},
		"129 threads per block":            {Grid: one, Block: [3]int{129, 1, 1}, Args: make([]byte, 16)},
		"8 bytes of parameters, the":       {Grid: one, Block: one, Args: make([]byte, 8)},
		"201024 bytes of shared memory":    {Grid: one, Block: one, Args: make([]byte, 16), Shared: 200000},
		"register %rd5 is read before it ": {},
	} {
		if l.Args == nil {
			continue
		}
		_, err := k.Launch(l)
		wantKind(t, err, ptxsim.BadLaunch, src, "")
		wantError(t, err, want)
	}
}

func TestLoadErrors(t *testing.T) {
	d := ptxsim.New(ptxsim.Options{})
	_, err := d.Load([]byte(strings.Replace(snippet(""), "sm_80", "sm_90", 1)))
	wantError(t, err, "sm_90")
	_, err = d.Load([]byte(snippet("frobnicate.u32 %r1, %r2;")))
	wantError(t, err, "frobnicate")
	_, err = d.Load([]byte("rubbish"))
	wantError(t, err, "line 1")
}

// TestVariables checks the values of global and constant variables, including pointers, and that
// the variables are separate.
func TestVariables(t *testing.T) {
	src := `.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 5;
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.global .align 8 .u64 pointer = generic(table);
.const .align 4 .u32 factor[2] = {10, 20};
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	.local .align 8 .b8 stack[16];
	ld.param.u64 %rd0, [out];
	atom.global.add.u32 %r0, [counter], 1;
	ld.global.u64 %rd1, [pointer];
	ld.u8 %r1, [%rd1+2];
	ld.const.u32 %r2, [factor+4];
	mov.u64 %rd2, stack;
	cvta.local.u64 %rd3, %rd2;
	st.u32 [%rd3+8], %r2;
	ld.local.u32 %r3, [stack+8];
	mad.lo.u32 %r4, %r3, 100, %r1;
	mad.lo.u32 %r4, %r0, 10000, %r4;
	st.global.u32 [%rd0], %r4;
	ret;
}
`
	j := job{text: src, kernel: "k", args: []any{out(4)}}
	if got := unwords(j.must(t, ptxsim.Options{})[0])[0]; got != 5*10000+20*100+3 {
		t.Errorf("got %d", got)
	}
	for _, c := range []struct {
		old, new string
		kind     ptxsim.Kind
	}{
		{"[factor+4]", "[factor+8]", ptxsim.OutOfBounds},
		{"[%rd1+2]", "[%rd1+8]", ptxsim.OutOfBounds},
		{"ld.local.u32 %r3, [stack+8]", "ld.local.u32 %r3, [stack+4]", ptxsim.Uninitialised},
		{"[%rd3+8]", "[%rd3+16]", ptxsim.OutOfBounds},
		{"[counter], 1", "[counter+2], 1", ""},
	} {
		j.text = strings.Replace(src, c.old, c.new, 1)
		_, err := j.run(ptxsim.Options{})
		if c.kind == "" {
			wantError(t, err, "align")
			continue
		}
		wantKind(t, err, c.kind, j.text, "")
	}
}

// TestStats checks the numbers in Stats.
func TestStats(t *testing.T) {
	x := exhibits(t)[1]
	_, st, err := x.stats(ptxsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if st.Blocks != 3 || st.Barriers != 3 || st.Bytes != 3*(256*4+4) {
		t.Errorf("%+v", st)
	}
	body := "mov.u32 %r4, 1;\n@%p1 mov.u32 %r4, 2;"
	src := snippet("setp.lt.u32 %p1, %r0, 5;\n" + body)
	_, st, err = job{text: src, kernel: "k", block: [3]int{40}, args: []any{out(4), out(4)}}.stats(ptxsim.Options{NoInit: true})
	if want := int64(40*(9+2+1) + 5); err != nil || st.Steps != want {
		t.Errorf("%d lane instructions, want %d, %v", st.Steps, want, err)
	}
}

// TestRandomCutsBetweenInstructions runs warps that read a counter, add 1 and write it back. At least
// 4 of 16 random orders must lose an addition, which needs a switch of warps between instructions.
func TestRandomCutsBetweenInstructions(t *testing.T) {
	const body = `
	ld.volatile.global.u32 %r4, [%rd0];
	add.u32 %r4, %r4, 1;
	st.volatile.global.u32 [%rd0], %r4;`
	lost := 0
	for seed := range uint64(16) {
		got, err := runSnippet(ptxsim.Options{Order: ptxsim.Random, Seed: seed, NoRaces: true}, body, 1, 128, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got[0] < 4 {
			lost++
		}
	}
	if lost < 4 {
		t.Errorf("of 16 random orders %d lose an addition", lost)
	}
}

// TestCallRegisters runs functions with parameters in registers. Lanes on one side of a branch
// call the first one with a register and a constant. The second one calls the first.
func TestCallRegisters(t *testing.T) {
	src := snippet(`
	.reg .f32 sum;
	mov.f32 sum, 0f00000000;
	setp.lt.u32 %p1, %r0, 20;
	cvt.rn.f32.u32 %f1, %r0;
	@%p1 call (sum), twice, (%f1, 0.5);
	st.global.f32 [%rd3], sum;`)
	src = strings.Replace(src, ".visible .entry", `.func (.reg .f32 r) add (.reg .f32 a, .reg .b32 b) { add.f32 r, a, b; ret; }
.func (.reg .f32 r) twice (.param .f32 a, .reg .f32 b)
{
	.reg .f32 x;
	ld.param.f32 x, [a];
	call (r), add, (x, b);
	call (r), add, (r, r);
	ret;
}
.visible .entry`, 1)
	for _, order := range orders {
		got := unfloats(job{text: src, kernel: "k", block: [3]int{32}, args: []any{make([]byte, 128), make([]byte, 128)}}.must(t, ptxsim.Options{Order: order})[0])
		for i, x := range got {
			want := 2 * (float32(i) + 0.5)
			if i >= 20 {
				want = 0
			}
			if x != want {
				t.Errorf("%v: lane %d: %v, want %v", order, i, x, want)
			}
		}
	}
}

// TestVariablesOfKernels declares initialised arrays in a kernel and a function, some with the
// same name. Each exists once and keeps the values written to it.
func TestVariablesOfKernels(t *testing.T) {
	src := snippet(`
	.const .align 4 .b32 table[] = {10, 20, 30};
	.global .u32 count = 5;
	.global .u64 at = generic(table) + 4;
	ld.const.u32 %r4, [table+8];
	{
		.const .b32 table[1] = {100};
		ld.const.u32 %r5, [table];
		add.u32 %r4, %r4, %r5;
	}
	atom.global.add.u32 %r5, [count], 1;
	add.u32 %r4, %r4, %r5;
	ld.global.u64 %rd5, [at];
	ld.u32 %r5, [%rd5];
	add.u32 %r4, %r4, %r5;
	.param .b32 got;
	call (got), next;
	call (got), next;
	ld.param.u32 %r5, [got];
	add.u32 %r4, %r4, %r5;
	st.global.u32 [%rd3], %r4;`)
	src = strings.Replace(src, ".visible .entry", `.global .u32 count = 7;
.func (.param .b32 r) next
{
	.global .u32 mine = 1000;
	.reg .b32 x;
	atom.global.add.u32 x, [mine], 1000;
	st.param.b32 [r], x;
	ret;
}
.visible .entry`, 1)
	d := ptxsim.New(ptxsim.Options{})
	m, err := d.Load([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.Alloc(4)
	if err != nil {
		t.Fatal(err)
	}
	for launch := range uint32(3) {
		args := binary.LittleEndian.AppendUint64(nil, uint64(out))
		if _, err := k.Launch(ptxsim.Launch{Grid: line(1), Block: line(1), Args: append(args, args...)}); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if err := d.Read(got, out); err != nil {
			t.Fatal(err)
		}
		if want := 30 + 100 + (5 + launch) + 20 + (2000 + 2000*launch); unwords(got)[0] != want {
			t.Errorf("launch %d gives %d, want %d", launch, unwords(got)[0], want)
		}
	}
}
