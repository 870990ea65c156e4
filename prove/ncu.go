package prove

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Watched is what Nsight Compute has measured of a kernel: medians of its launches. It
// measures each alone, with empty caches.
type Watched struct {
	Name         string  `json:"name"`
	Launches     int     `json:"launches"`
	Microseconds float64 `json:"median_us"`
	Occupancy    float64 `json:"occupancy"`   // share of the warps that a multiprocessor holds, while it is at work
	Memory       float64 `json:"memory_peak"` // share of the peak of the device's memory
}

// The metrics, in the order of Watched.
var ncuMetrics = []string{
	"gpu__time_duration.sum", "sm__warps_active.avg.pct_of_peak_sustained_active", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
}

// ncuArgs measure the first launches of a training, which is half a step or so. Clocks are
// left as they are: they are not ours to change.
var ncuArgs = []string{"--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--launch-count", "60",
	"--metrics", strings.Join(ncuMetrics, ",")}

// ncuKernels reads the table that ncu prints: a line of names, one of units, and one for
// each launch. Other lines, which are no part of it, come before. The kernels with the
// most time come first.
func ncuKernels(said string) []Watched {
	at := strings.Index(said, `"ID",`)
	if at < 0 {
		return nil
	}
	r := csv.NewReader(strings.NewReader(said[at:]))
	names, err := r.Read()
	if err != nil {
		return nil
	}
	name := slices.Index(names, "Kernel Name")
	var columns []int
	for _, m := range ncuMetrics {
		columns = append(columns, slices.Index(names, m))
	}
	if name < 0 || slices.Contains(columns, -1) {
		return nil
	}
	launches := map[string][][]float64{}
	for {
		row, err := r.Read()
		if errors.Is(err, csv.ErrFieldCount) {
			continue // no line of the table
		}
		if err != nil {
			break
		}
		if xs := numbers(row, columns); xs != nil {
			launches[row[name]] = append(launches[row[name]], xs)
		}
	}
	return summarize(launches)
}

// numbers are those in some columns of a row; nil if there is something else.
func numbers(row []string, columns []int) (xs []float64) {
	for _, c := range columns {
		x, err := strconv.ParseFloat(strings.ReplaceAll(row[c], ",", ""), 64)
		if err != nil {
			return nil
		}
		xs = append(xs, x)
	}
	return xs
}

func summarize(launches map[string][][]float64) (all []Watched) {
	for name, rows := range launches {
		middle := func(metric int) float64 {
			var xs []float64
			for _, row := range rows {
				xs = append(xs, row[metric])
			}
			slices.Sort(xs)
			return xs[len(xs)/2]
		}
		const nano, percent = 1e-3, 1e-2
		all = append(all, Watched{name, len(rows), nano * middle(0), percent * middle(1), percent * middle(2)})
	}
	slices.SortFunc(all, func(a, b Watched) int {
		return cmp.Or(cmp.Compare(float64(b.Launches)*b.Microseconds, float64(a.Launches)*a.Microseconds), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// about is what the page says of a tool, and of the part that it watched.
func (t *Tool) about(p *Part) string {
	text := fmt.Sprintf("%s: %s", t.Version, t.Exit)
	switch {
	case p.Kernels != nil:
		text += "; " + p.Kernels.String()
	case p.Steps != nil:
		text += "; " + p.Steps.String()
	}
	return text
}

// lines are what the page says of the kernels that a tool has measured.
func (t *Tool) lines() (lines []string) {
	if len(t.Kernels) == 0 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("%-34s %8s %10s %10s %8s", "kernel, alone, with empty caches", "launches", "µs each", "occupancy", "memory"))
	for _, k := range t.Kernels[:min(len(t.Kernels), worstKernels)] {
		lines = append(lines, fmt.Sprintf("%-34s %8d %10.1f %8.0f %% %6.0f %%", k.Name, k.Launches, k.Microseconds, 100*k.Occupancy, 100*k.Memory))
	}
	return lines
}
