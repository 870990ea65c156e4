package scalars

import (
	"testing"

	"github.com/arithlang/mlc/runtime/abi"
)

// TestStepBlock writes each scalar of a step to its word.
func TestStepBlock(t *testing.T) {
	block := StepBlock(func(s abi.Scalar) uint32 { return uint32(abi.StepWord(s.Name)) })
	if len(block) != abi.WordBytes*abi.StepWords {
		t.Fatalf("%d bytes", len(block))
	}
	for i := range abi.StepWords {
		if block[abi.WordBytes*i] != byte(i) {
			t.Errorf("word %d is %v", i, block[abi.WordBytes*i:][:abi.WordBytes])
		}
	}
}

// TestFind finds the scalars of steps and those of callers.
func TestFind(t *testing.T) {
	for _, s := range All() {
		if got, known := Find(s.Name); !known || got != s {
			t.Errorf("%s is %+v", s.Name, got)
		}
	}
	if n := len(All()) - len(abi.Scalars()); n != 1+4*3 {
		t.Errorf("%d scalars of callers", n)
	}
	if _, known := Find("x_row"); known {
		t.Error("x_row is found")
	}
}
