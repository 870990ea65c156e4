package full

import (
	"os"
	"runtime/debug"
)

// Tests make much garbage and keep little, so a heap of more than twice what lives saves a
// fifth of their time. What keeps much stays near what memory there is.
func init() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(3 << 30)
	}
}
