package ptxas

import (
	"errors"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// output is the output of ptxas for two kernels.
const output = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k2' for 'sm_80'
ptxas info    : Function properties for k2
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    24 bytes stack frame, 28 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 10 registers, 4000 bytes smem, 360 bytes cmem[0]
`

func TestParse(t *testing.T) {
	got, err := parse(output)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["k2"] != (Usage{Registers: 4}) || got["k"] != (Usage{10, 4000, 24, 28, 36}) {
		t.Errorf("%+v", got)
	}
	if _, err := parse(strings.ReplaceAll(output, "Used 4", "Uses 4")); err == nil || !strings.Contains(err.Error(), "registers of k2") {
		t.Errorf("another output: %v", err)
	}
}

const module = `.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) {
	.shared .align 4 .b8 sh[400];
	.reg .b64 %d<1>;
	.reg .b32 %r<2>;
	ld.param.u64 %d0, [x];
	mov.u32 %r0, %tid.x;
	mov.u32 %r1, sh;
	mad.lo.u32 %r1, %r0, 4, %r1;
	st.shared.u32 [%r1], %r0;
	bar.sync 0;
	ld.shared.u32 %r0, [%r1+4];
	st.global.u32 [%d0], %r0;
	ret;
}
`

func TestAssemble(t *testing.T) {
	full.Needs(t, full.Ptxas)
	got, err := Assemble([]byte(module), "sm_80")
	if err != nil {
		t.Fatal(err)
	}
	if k := got["k"]; len(got) != 1 || k.Registers == 0 || k.Shared != 400 || k.SpillStores != 0 {
		t.Errorf("%+v", got)
	}
	if _, err := Assemble([]byte(strings.Replace(module, "bar.sync", "bar.synk", 1)), "sm_80"); err == nil || !strings.Contains(err.Error(), ".synk") {
		t.Errorf("a wrong instruction: %v", err)
	}
}

// TestCode wants equal code for modules that differ only in spelling.
func TestCode(t *testing.T) {
	full.Needs(t, full.Ptxas)
	code := func(text string) string {
		t.Helper()
		c, err := Code([]byte(text), "sm_80")
		if err != nil {
			t.Fatal(err)
		}
		return string(c)
	}
	right := code(module)
	if again := code(strings.Replace(module, "%r0, 4, %r1", "4, %r0, %r1", 1)); again != right {
		t.Error("the order of factors makes a difference")
	}
	if other := code(strings.Replace(module, "[%r1+4]", "[%r1+8]", 1)); other == right {
		t.Error("another address makes no difference")
	}
}

// TestMissing wants it said where ptxas comes from.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("MLC_PTXAS", "")
	if _, err := Assemble([]byte(module), "sm_80"); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}
