package prove

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Watched holds Nsight Compute's measurements of a kernel: medians over its launches, each run
// alone with empty caches.
type Watched struct {
	Name         string  `json:"name"`
	Launches     int     `json:"launches"`
	Microseconds float64 `json:"median_us"`
	Occupancy    float64 `json:"occupancy"`   // share of the resident warps of a multiprocessor, while it is active
	Memory       float64 `json:"memory_peak"` // share of the peak bandwidth of device memory

	Tensor    float64 `json:"tensor_cores,omitempty"` // share of time with active tensor cores
	Registers float64 `json:"registers,omitempty"`    // of a thread
	Waits     []Wait  `json:"waits,omitempty"`        // longest first
}

// A Wait is a reason why warps do not issue an instruction.
type Wait struct {
	Name   string  `json:"name"`
	Cycles float64 `json:"cycles"` // cycles that a warp waits per issued instruction
}

// The metrics to query, in the order of Watched.
var ncuMetrics = []string{
	"gpu__time_duration.sum", "sm__warps_active.avg.pct_of_peak_sustained_active", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
}

// Columns that only some sections of ncu print; their names differ between versions.
var (
	ncuWait      = regexp.MustCompile(`^smsp__average_warps_issue_stalled_(\w+)_per_issue_active(\.ratio)?$`)
	ncuTensor    = regexp.MustCompile(`pipe_tensor\w*\.avg\.pct_of_peak_sustained_active$`)
	ncuRegisters = regexp.MustCompile(`^launch__registers_per_thread$`)
)

// mostWaits is the number of reasons to keep for a kernel.
const mostWaits = 4

// ncuArgs measure the first launches of a training. They leave clocks as they are, because they
// are not ours to change.
func ncuArgs(launches int) []string {
	return []string{"--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--launch-count", fmt.Sprint(launches),
		"--metrics", strings.Join(ncuMetrics, ",")}
}

// ncuKernels parses the table that ncu prints: a line of names, a line of units, and one line a
// launch. Other output comes before it. The kernels with the most time come first.
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
	if name < 0 || slices.ContainsFunc(ncuMetrics, func(m string) bool { return !slices.Contains(names, m) }) {
		return nil
	}
	launches := map[string][]map[string]float64{}
	for {
		row, err := r.Read()
		if errors.Is(err, csv.ErrFieldCount) {
			continue // no line of the table
		}
		if err != nil {
			break
		}
		xs := map[string]float64{}
		for i, text := range row {
			if x, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64); err == nil {
				xs[names[i]] = x
			}
		}
		if !slices.ContainsFunc(ncuMetrics, func(m string) bool { _, ok := xs[m]; return !ok }) {
			launches[row[name]] = append(launches[row[name]], xs)
		}
	}
	return summarize(launches)
}

// summarize makes one row of the launches of each kernel.
func summarize(launches map[string][]map[string]float64) (all []Watched) {
	for name, rows := range launches {
		middle := func(column string) float64 {
			var xs []float64
			for _, row := range rows {
				if x, ok := row[column]; ok {
					xs = append(xs, x)
				}
			}
			slices.Sort(xs)
			return xs[len(xs)/2]
		}
		const nano, percent = 1e-3, 1e-2
		w := Watched{Name: name, Launches: len(rows), Microseconds: nano * middle(ncuMetrics[0]), Occupancy: percent * middle(ncuMetrics[1]), Memory: percent * middle(ncuMetrics[2])}
		for column := range rows[0] {
			switch reason := ncuWait.FindStringSubmatch(column); {
			case reason != nil:
				w.Waits = append(w.Waits, Wait{reason[1], middle(column)})
			case ncuTensor.MatchString(column):
				w.Tensor = max(w.Tensor, percent*middle(column))
			case ncuRegisters.MatchString(column):
				w.Registers = middle(column)
			}
		}
		slices.SortFunc(w.Waits, func(a, b Wait) int { return cmp.Or(cmp.Compare(b.Cycles, a.Cycles), cmp.Compare(a.Name, b.Name)) })
		w.Waits = w.Waits[:min(len(w.Waits), mostWaits)]
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Watched) int {
		return cmp.Or(cmp.Compare(float64(b.Launches)*b.Microseconds, float64(a.Launches)*a.Microseconds), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// about describes a tool's run and the part that it watched.
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

// lines lists the kernels that a tool has measured.
func (t *Tool) lines() (lines []string) {
	if len(t.Kernels) == 0 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("%-34s %8s %10s %10s %8s", "kernel, alone, with empty caches", "launches", "µs each", "occupancy", "memory"))
	for _, k := range t.Kernels[:min(len(t.Kernels), WorstKernels)] {
		line := fmt.Sprintf("%-34s %8d %10.1f %8.0f %% %6.0f %%", k.Name, k.Launches, k.Microseconds, 100*k.Occupancy, 100*k.Memory)
		if k.Tensor > 0 {
			line += fmt.Sprintf(", tensor cores %.0f %%", 100*k.Tensor)
		}
		for i, w := range k.Waits {
			line += fmt.Sprintf("%s%s %.1f", []string{"; waits: ", ", "}[min(i, 1)], w.Name, w.Cycles)
		}
		lines = append(lines, line)
	}
	return lines
}
