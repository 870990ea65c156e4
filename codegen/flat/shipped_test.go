package flat_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// distinct are the kernels of all specs that differ by more than their names.
func distinct(t *testing.T) []*kernel.Kernel {
	t.Helper()
	specs, err := ptxtest.Shipped("../../specs")
	if err != nil {
		t.Fatal(err)
	}
	var ks []*kernel.Kernel
	for _, s := range ptxtest.Distinct(specs) {
		ks = append(ks, s.Kernels...)
	}
	if len(ks) < 400 {
		t.Fatalf("%d kernels are too few for all specs", len(ks))
	}
	return ks
}

// roundTrip holds a kernel to its printed form.
func roundTrip(t *testing.T, k flat.Kernel) {
	t.Helper()
	text := k.String()
	again, err := flat.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if d := cmp.Diff(k, again[0], cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *expr.Expr) bool {
		return a == b || a != nil && b != nil && expr.Equal(a, b)
	})); d != "" || again[0].String() != text {
		t.Errorf("(-made +parsed)\n%s", d)
	}
}

// TestShipped verifies the flat form of all kernels of all specs and reads it back,
// and runs some of them.
func TestShipped(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, k := range distinct(t) {
		f := flat.Of(k)
		if err := flat.Verify(f); err != nil {
			t.Errorf("%v in\n%s\n%s", err, f, k)
			continue
		}
		roundTrip(t, f)
		if draw.IntN(40) == 0 {
			agrees(t, k, f, kerneltest.Launches()[1])
		}
	}
}

// agrees holds a flat form to the interpreter of the kernel IR.
func agrees(t *testing.T, k *kernel.Kernel, f flat.Kernel, launches ...kernel.Scalars) {
	t.Helper()
	for i, s := range launches {
		for _, kind := range []kerneltest.Kind{kerneltest.Signed, kerneltest.Positive} {
			err := kerneltest.Check(k, s, kind, uint64(i), func(_ string, s kernel.Scalars, bufs []kernel.Buffer) error {
				return flat.Run(f, s, bufs)
			})
			if err != nil {
				t.Errorf("%v inputs, launch %v: %v in\n%s", kind, s, err, f)
				return
			}
		}
	}
}

// TestRandom does the same with kernels that no spec asks for, in all launches.
func TestRandom(t *testing.T) {
	for seed := range uint64(60) {
		k := kerneltest.Random(seed)
		f := flat.Of(k)
		roundTrip(t, f)
		agrees(t, k, f, kerneltest.Launches()...)
	}
}
