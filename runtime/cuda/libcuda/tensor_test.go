//go:build !nogpu && linux && (amd64 || arm64)

package libcuda_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

var tensor = cuda.Tensor{Address: 1<<60 + 256, Element: cuda.TensorBF16, Size: [2]int{64, 1 << 33}, Stride: 128, Box: [2]int{32, 8}, Swizzle: 64}

// TestDescribe reads the arguments that the fake driver writes into a descriptor. Half of them are
// on the stack.
func TestDescribe(t *testing.T) {
	d, _ := open(t)
	got, err := d.(cuda.Describer).Describe(tensor)
	ok(t, err)
	var words []uint64
	for i := range 16 {
		words = append(words, binary.LittleEndian.Uint64(got[8*i:]))
	}
	// type, rank, address, size, stride, box, step, interleave, swizzle, promotion, fill, and the
	// descriptor's address modulo 64
	want := []uint64{9, 2, 1<<60 + 256, 64, 1 << 33, 128, 32, 8, 1, 1, 0, 2, 0, 0, 0, 0}
	if !slices.Equal(words, want) {
		t.Errorf("%x, want %x", words, want)
	}
}

// TestDescribeFails distinguishes a bad tensor, a driver that refuses and a driver that is too
// old.
func TestDescribeFails(t *testing.T) {
	d, lib := open(t)
	const refused = 1
	for _, bad := range []func(x *cuda.Tensor){
		func(x *cuda.Tensor) { x.Swizzle = 48 }, func(x *cuda.Tensor) { x.Box[1] = 0 }, func(x *cuda.Tensor) { x.Size[0] = -1 },
	} {
		x := tensor
		bad(&x)
		if _, err := d.(cuda.Describer).Describe(x); !isCode(err, refused) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	lib.Fail("cuTensorMapEncodeTiled", 2, 0)
	if _, err := d.(cuda.Describer).Describe(tensor); !isCode(err, cuda.OutOfMemory) || !strings.HasPrefix(err.Error(), "describe a tensor: ") {
		t.Error(err)
	}
	old, err := libcuda.Open(libcuda.Options{Library: fakecuda.Build(t, "NO_TENSORS").Path})
	ok(t, err)
	if _, err := old.(cuda.Describer).Describe(tensor); err == nil || !strings.Contains(err.Error(), "CUDA 12.0; update the driver") {
		t.Error(err)
	}
	ok(t, old.Close())
}
