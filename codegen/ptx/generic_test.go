package ptx_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// TestRandomKernels holds small kernels with odd sizes to the interpreter.
func TestRandomKernels(t *testing.T) {
	var ks []*kernel.Kernel
	for seed := range uint64(20) {
		ks = append(ks, kerneltest.Random(seed))
	}
	ptxtest.Compare(t, ks, ptx.Options{Header: "random"})
}

func TestFile(t *testing.T) {
	text, _ := os.ReadFile("../../generated/successor/kernels.kir")
	ks, err := kernel.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := ptx.Module(ks, ptx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/lead/k.ptx", out.Text, 0o644)
	fmt.Println(len(out.Text))
	ptxtest.Compare(t, ks, ptx.Options{Header: "random"})
}
