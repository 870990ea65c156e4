//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// TestRealLibrary uses NVIDIA's library at MLC_LIBNCCL. It checks the functions and that an
// address has one id. Without a GPU both functions that take the id fail with a known message.
// With a GPU one rank meets itself.
func TestRealLibrary(t *testing.T) {
	path := os.Getenv("MLC_LIBNCCL")
	if path == "" {
		t.Skip("MLC_LIBNCCL names no library")
	}
	const meet = "127.0.0.1:61234"
	d, err := libcuda.Open(libcuda.Options{})
	if err != nil {
		t.Log("without a GPU:", err)
		refuses(t, path, meet)
		if d, err = libcuda.Open(libcuda.Options{Library: fakecuda.Build(t).Path}); err != nil {
			t.Fatal(err)
		}
		_, err = Open(Options{Driver: d, Size: 1, Meet: meet})
		if err == nil || !strings.Contains(err.Error(), "rank 0 of 1 (libnccl.so.2): meet the other ranks: unhandled cuda error") {
			t.Error(err)
		}
		return
	}
	defer d.Close()
	c, err := Open(Options{Driver: d, Size: 1, Meet: meet})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.World.Barrier(), c.World.Close(0)); err != nil {
		t.Error(err)
	}
}

// refuses starts with both functions and expects their failure.
func refuses(t *testing.T, path, meet string) {
	t.Helper()
	lib, err := openTable(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("version", lib.version())
	t.Setenv("NCCL_COMM_ID", meet)
	for _, scalable := range []uintptr{lib.address[commInitRankScalable], 0} {
		lib.address[commInitRankScalable] = scalable
		x, r := lib.uniqueID()
		again, _ := lib.uniqueID()
		if r != success || x != again {
			t.Errorf("ids of %s: result %d, %x and %x", meet, r, x, again)
		}
		var h handle
		r = lib.initRank(&h, &x, 0, 1)
		meaning, last := lib.describe(r)
		t.Log(r, meaning, last)
		if r != 1 || !strings.HasPrefix(meaning, "unhandled cuda error") || last == "" {
			t.Errorf("without a GPU: result %d, %s, %s", r, meaning, last)
		}
	}
}
