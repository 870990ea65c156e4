//go:build nogpu || !((linux || windows) && (amd64 || arm64))

package libcuda

import (
	"fmt"
	"runtime"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Open says that this program was built without support for GPUs.
func Open(Options) (cuda.Driver, error) {
	return nil, fmt.Errorf("%w: this program was built without support for it (%s/%s, perhaps with -tags nogpu)",
		cuda.ErrUnavailable, runtime.GOOS, runtime.GOARCH)
}
