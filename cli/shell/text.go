package shell

import (
	"fmt"
	"math"
)

// Scaled writes a number with a prefix: 1.5 GFLOP, 3.2 MiB.
func Scaled(x, base float64, unit string) string {
	prefixes := []string{"", "k", "M", "G", "T", "P", "E"}
	if base == 1024 {
		prefixes = []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	}
	i := 0
	for ; math.Round(x) >= base && i < len(prefixes)-1; i++ {
		x /= base
	}
	form := "%.3g %s%s"
	if math.Round(x) >= 1000 { // with three digits it would get an exponent
		form = "%.0f %s%s"
	}
	return fmt.Sprintf(form, x, prefixes[i], unit)
}
