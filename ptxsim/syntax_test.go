package ptxsim_test

import (
	"math"
	"slices"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// TestSyntax runs different spellings of the same things: bytes of addresses in initialisers,
// nested lists, elements of arrays and vectors of registers.
func TestSyntax(t *testing.T) {
	got, err := runSnippet(ptxsim.Options{}, `
	.global .attribute(.managed) .u32 there = 77;
	.global .align 8 .u8 byte[8] = {0xff(there), 0xff00(there), 0xff0000(there), 0xff000000(there),
		0xff00000000(there), 0xff0000000000(there), 0xff000000000000(there), 0xff00000000000000(there)};
	.const .u32 rows[2][3] = {{1}, {4, 5}};
	.reg .v4 .u32 v;
	.reg .v2 .b32 half<2>;
	ld.global.u64 %rd5, [byte];
	ld.global.u32 %r4, [%rd5];
	st.global.u32 [%rd0], %r4;
	ld.const.u32 %r4, rows[4];
	st.global.u32 [%rd0+4], %r4;
	mov.v4.u32 v, %ntid;
	add.u32 v.z, v.x, v.g;
	st.global.v2.u32 [%rd0+8], {v.z, v.a};
	mov.b64 half1, %rd5;
	mov.b64 %rd6, half1;
	sub.u64 %rd6, %rd6, %rd5;
	st.global.u64 [%rd0+16], %rd6;
	st.shared.u8 sh[5], 9;
	ld.shared.u8 %r4, [sh+5];
	st.global.u32 [%rd0+28], %r4;
	mov.f32 %f1, .5;
	add.f32 %f1, %f1, 2.;
	st.global.f32 [%rd0+24], %f1;`, 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint32{77, 5, 2, 0, 0, 0, math.Float32bits(2.5), 9}; !slices.Equal(got[:8], want) {
		t.Errorf("stores %d, want %d", got[:8], want)
	}
}
