package pages

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestFloats wants n zeros, and a request for large pages if a whole one fits.
func TestFloats(t *testing.T) {
	for _, n := range []int{0, 1, 1000, Large / 4, 4 * Large, 4*Large + 7} {
		x := Floats(n)
		if len(x) != n {
			t.Fatalf("%d floats, want %d", len(x), n)
		}
		for i, v := range x {
			if v != 0 {
				t.Fatalf("of %d floats, number %d is %v", n, i, v)
			}
			x[i] = 1
		}
		if n >= 4*Large && !asked(t, &x[n/2]) {
			t.Errorf("nobody asked for large pages for %d floats", n)
		}
	}
}

// asked reports whether the mapping of an address is marked for large pages (proc(5), VmFlags).
func asked(t *testing.T, p *float32) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil || !strings.Contains(string(maps), "VmFlags") {
		t.Skip("the system does not tell what mappings are asked for")
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the system has no large pages")
	}
	within := false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			at := uintptr(unsafe.Pointer(p))
			within = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && within {
			return strings.Contains(flags+" ", " hg ")
		}
	}
	return false
}
