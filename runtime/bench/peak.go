package bench

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/profile"
)

// A peak is the most that a GPU can do, or a thread while all others do the same.
type peak struct {
	Flops  float64 `json:"flops"`                  // fused multiply-adds in registers, 0 if unknown
	Narrow float64 `json:"narrow_flops,omitempty"` // products of 16-bit factors on tensor cores or as pairs, 0 if unsupported
	TF32   float64 `json:"tf32_flops,omitempty"`   // products of TF32 on tensor cores
	Bytes  float64 `json:"bytes_per_second"`       // copied in memory, read and written
}

// measurePeak measures the peak in a fraction of a second.
func measurePeak(isa cpu.ISA, threads int) peak {
	const rounds, moved = 50_000, 64 << 20
	from := make([][]byte, threads)
	to := make([][]byte, threads)
	for i := range threads {
		from[i], to[i] = make([]byte, moved), make([]byte, moved)
	}
	return peak{
		Flops:  rate(threads, 200, func(int) int { return isa.Saturate(rounds) }),
		Narrow: rate(threads, 200, func(int) int { return isa.SaturateNarrow(rounds) }),
		Bytes:  rate(threads, 8, func(i int) int { return 2 * copy(to[i], from[i]) }),
	}
}

// measureBegun measures how many instructions a thread begins per second while all others do
// the same.
func measureBegun(isa cpu.ISA, threads int) float64 {
	return rate(threads, 100, func(int) int { return isa.Begin(50_000) })
}

// workingSets are the sizes within which copying is measured: far below the cache sizes of any
// processor, each sixteen times the last.
var workingSets = []int{16 << 10, 256 << 10, 4 << 20}

// measureLevels measures the copying rates in a fraction of a second.
func measureLevels(threads int) []profile.Level {
	const moved = 4 << 20 // per call
	var levels []profile.Level
	for _, size := range workingSets {
		memory := make([][]byte, threads)
		for i := range threads {
			memory[i] = make([]byte, size)
		}
		levels = append(levels, profile.Level{Size: size, Bytes: rate(threads, 100, func(i int) (bytes int) {
			for bytes < moved {
				bytes += 2 * copy(memory[i][:size/2], memory[i][size/2:])
			}
			return bytes
		})})
	}
	return levels
}

// rate calls f repeatedly on all threads and returns its work per second: the best call of each
// thread, averaged.
func rate(threads, times int, f func(thread int) int) float64 {
	best := make([]float64, threads)
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			for range times {
				start := time.Now()
				n := f(i)
				best[i] = max(best[i], float64(n)/time.Since(start).Seconds())
			}
		})
	}
	all.Wait()
	sum := 0.0
	for _, b := range best {
		sum += b
	}
	return sum / float64(threads)
}

// peakMemory returns the peak memory of the process in bytes, 0 if the system does not tell.
func peakMemory() int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")))
			return kib << 10
		}
	}
	return 0
}
