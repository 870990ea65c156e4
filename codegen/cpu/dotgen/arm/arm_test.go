package main

import (
	"strings"
	"testing"
)

// TestLargestTile checks that the loop of the largest tile mostly multiplies.
func TestLargestTile(t *testing.T) {
	_, l := product(maxRows, maxCols)
	if l.multiplies != unrolled*maxRows*maxCols {
		t.Errorf("%d fused multiply-adds, want %d", l.multiplies, unrolled*maxRows*maxCols)
	}
	if share := float64(l.multiplies) / float64(l.instructions); share < 0.85 {
		t.Errorf("%.2f of all instructions are fused multiply-adds", share)
	}
	// Each k loads two registers of A and three of B.
	if want := unrolled * 5; l.loads != want {
		t.Errorf("%d registers are loaded, want %d", l.loads, want)
	}
}

// TestX86Loop counts a loop by hand.
func TestX86Loop(t *testing.T) {
	const text = `TEXT ·other(SB), NOSPLIT, $0-96
k:
	DECQ DI
	JNZ  k
TEXT ·dot(SB), NOSPLIT, $0-96
	VMOVUPS (SI), Y0

k:
	VMOVUPS      (SI), Y2
	VMOVUPS      32(SI), Y3
	PREFETCHT0   64(SI)
	VBROADCASTSS (BX)(AX*1), Y4
	VFMADD231PS  Y4, Y2, Y0
	VFMADD231PS  Y4, Y3, Y1
	DECQ         DI
	JNZ          k
	VMOVUPS      Y0, (SI)
`
	l, err := x86Loop(text, "dot")
	if want := (loop{instructions: 8, multiplies: 2, loads: 3}); err != nil || l != want {
		t.Errorf("%+v, %v; want %+v", l, err, want)
	}
	if _, err := x86Loop(text, "none"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("of a function that is not there: %v", err)
	}
}
