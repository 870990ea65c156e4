//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"os"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
)

// TestRealLibrary uses NVIDIA's library at MLC_CUBLASLT. It checks the functions, and the
// descriptors and attributes of a shape. Without a GPU the library refuses to start with a known
// message. With a GPU it starts.
func TestRealLibrary(t *testing.T) {
	path := os.Getenv("MLC_CUBLASLT")
	if path == "" {
		t.Skip("MLC_CUBLASLT names no library")
	}
	lib, err := openTable(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("version", lib.version())
	p := &plan{}
	var s status
	if p.desc, s = lib.descCreate(); s != success {
		t.Fatal(s)
	}
	for _, attribute := range []uintptr{descTransA, descTransB} {
		if s := lib.descSet(p.desc, attribute, opT); s != success {
			t.Errorf("attribute %d of a descriptor: %v", attribute, s)
		}
	}
	for i, m := range []cuda.Matrix{{Step: 48, Trans: true}, {Step: 24, Narrow: true}, {}, {}} {
		if p.layouts[i], s = lib.layout(m, 3, 4, 2); s != success {
			t.Errorf("layout of %+v: %v", m, s)
		}
	}
	preference, s := lib.preferenceCreate()
	if s != success {
		t.Fatal(s)
	}
	if s := lib.preferRoom(preference, workspaceBytes); s != success {
		t.Errorf("workspace: %v", s)
	}
	for _, attribute := range []uintptr{preferReduction, preferAlignA, preferAlignA + 1, preferAlignA + 2, preferAlignA + 3} {
		if s := lib.preferWords(preference, attribute, 2); s != success {
			t.Errorf("preference %d: %v", attribute, s)
		}
	}
	if s := lib.call(ltMatmulPreferenceDestroy, uintptr(preference)); s != success {
		t.Error(s)
	}
	lib.drop(p)
	h, s := lib.create()
	if t.Logf("start: %v", s); s == success {
		s = lib.destroy(h)
	}
	if s != success && statuses[s] == "" {
		t.Errorf("a status that is not known: %v", s)
	}
}
