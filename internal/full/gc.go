package full

import (
	"os"
	"runtime/debug"
)

// Tests make much garbage and keep little, so letting the heap grow to five times the live bytes
// saves a fifth of their time. Tests that keep much stay near the memory limit.
func init() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(3 << 30)
	}
}
