package record

import "fmt"

// Seeds names a run by its seed, and by the seed of its initial weights if they have a separate
// one.
func Seeds(seed uint64, initial *uint64) string {
	if initial == nil {
		return fmt.Sprintf("seed %d", seed)
	}
	return fmt.Sprintf("seed %d, init seed %d", seed, *initial)
}
