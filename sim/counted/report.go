package counted

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/runtime/cuda"
)

// A Report lists what steps of a model ask of a card. Times are seconds. Launches, copies, FLOP
// and bytes are means over steps; counts of graphs are totals over all steps.
type Report struct {
	Name  string `json:"name"`  // of the model
	Card  string `json:"card"`  // the card that is modelled
	SMs   int    `json:"sms"`   // its multiprocessors
	Steps int    `json:"steps"` // number of steps counted

	Plan     float64 `json:"plan_launches"` // launches of the plan
	Launches float64 `json:"launches"`      // kernels that the device runs; replicas of a batch are one, clears and copies add some
	Calls    float64 `json:"calls"`         // calls of the driver: single launches and graphs
	Waits    float64 `json:"waits"`         // synchronisations that leave the device idle
	Behind   float64 `json:"event_waits"`   // waits for an earlier step, while the device has the next one to do

	ToDevice Moved `json:"to_device"`
	ToHost   Moved `json:"to_host"`

	Captures int64 `json:"graphs_recorded"`
	Replays  int64 `json:"graph_replays"`
	Misses   int64 `json:"graph_misses"` // sequences worth a graph that were launched one by one
	Kept     int64 `json:"graphs_kept"`  // at most

	Memory int64 `json:"memory_bytes"` // device memory, at most
	Pinned int64 `json:"pinned_bytes"` // host memory, at most

	Host   float64 `json:"host_seconds"`            // host time of the median step, to record and submit work
	Growth int64   `json:"growth_bytes"`            // growth of resident memory since the first step, where the system reports it
	Bound  float64 `json:"bound_seconds"`           // lower bound on the time of a step's launches
	Blocks float64 `json:"blocks_weighted_by_flop"` // blocks of a mean launch, weighted by FLOP

	Kernels []Use `json:"kernels"` // the largest lower bound first
}

// Moved is the copies between host and device in a step.
type Moved struct {
	Times float64 `json:"times"`
	Bytes float64 `json:"bytes"`
}

// A Use is a kernel's part of a step. Blocks are counted over all replicas of a launch.
type Use struct {
	Name      string  `json:"name"`
	Own       bool    `json:"own,omitempty"` // a kernel of the runtime: clearing, copies, sums of gradients
	Launches  float64 `json:"launches"`
	Least     int64   `json:"blocks_min"`
	Mean      float64 `json:"blocks_mean"`
	Most      int64   `json:"blocks_max"`
	Weighted  float64 `json:"blocks_weighted_by_flop"` // the mean if the kernel has no FLOP
	Threads   int     `json:"threads"`                 // of a block
	Static    int     `json:"shared_static"`           // bytes of a block
	Dynamic   int     `json:"shared_dynamic"`          // bytes of a block, at most
	Registers int     `json:"registers,omitempty"`     // registers of a thread, if known
	Resident  int     `json:"resident_blocks"`         // blocks on a multiprocessor; unknown registers do not limit it
	Waves     float64 `json:"waves"`                   // waves of resident blocks in a launch of Weighted blocks
	Flops     float64 `json:"flop"`
	Bytes     float64 `json:"bytes"`
	Bound     float64 `json:"bound_seconds"`
	Share     float64 `json:"share"` // share of the sum of all bounds
}

// Report summarises the counts of so many steps.
func (d *Driver) Report(name string, c count.Counts, steps int) Report {
	each := func(n int64) float64 { return float64(n) / float64(steps) }
	moved := func(pinned, pageable count.Traffic) Moved {
		return Moved{each(pinned.Times + pageable.Times), each(pinned.Bytes + pageable.Bytes)}
	}
	on := d.dev.Card()
	r := Report{Name: name, Card: on.Name, SMs: on.SMs, Steps: steps,
		Launches: each(c.Launched()), Calls: each(c.Direct + c.Replays), Waits: each(c.Waits), Behind: each(c.Behind),
		ToDevice: moved(c.ToDevice, c.ToDevicePageable), ToHost: moved(c.ToHost, c.ToHostPageable),
		Captures: c.Captures, Replays: c.Replays, Misses: c.Misses, Kept: c.MostGraphs, Memory: c.MostMemory, Pinned: c.MostPinned}
	flops := 0.0
	for _, k := range c.Worst() {
		u := use(&k, on, steps)
		r.Kernels = append(r.Kernels, u)
		r.Bound += u.Bound
		r.Blocks += k.Weighted
		flops += k.Flops
		if !k.Own {
			r.Plan += each(k.Replicas)
		}
	}
	if flops > 0 {
		r.Blocks /= flops
	}
	for i := range r.Kernels {
		r.Kernels[i].Share = r.Kernels[i].Bound / r.Bound
	}
	return r
}

// use returns a kernel's part of a mean step.
func use(k *count.Kernel, c *card.Card, steps int) Use {
	n := float64(steps)
	u := Use{Name: k.Name, Own: k.Own, Launches: float64(k.Launches) / n, Least: k.Least, Mean: float64(k.Blocks) / float64(k.Launches), Most: k.Most,
		Threads: k.Threads, Static: k.Static, Dynamic: k.Dynamic, Registers: k.Registers, Resident: c.Resident(k.Threads, k.Static+k.Dynamic, k.Registers),
		Flops: k.Flops / n, Bytes: k.Bytes / n, Bound: k.Bound.Seconds() / n}
	if u.Weighted = u.Mean; k.Flops > 0 {
		u.Weighted = k.Weighted / k.Flops
	}
	if u.Resident > 0 {
		u.Waves = u.Weighted / float64(u.Resident*c.SMs)
	}
	return u
}

// String formats the report as text.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s with %d multiprocessors: counted, not computed, over %s\n", r.Name, r.Card, r.SMs, plural(r.Steps, "step"))
	fmt.Fprintf(&b, "a step   %s launches of the plan; the device runs %s kernels, in %s calls of the driver, with %s waits and %s waits for an earlier step\n", Number(r.Plan), Number(r.Launches), Number(r.Calls), Number(r.Waits), Number(r.Behind))
	fmt.Fprintf(&b, "copies   %s to the device in %s, %s from it in %s\n", bytes(r.ToDevice.Bytes), Number(r.ToDevice.Times), bytes(r.ToHost.Bytes), Number(r.ToHost.Times))
	fmt.Fprintf(&b, "graphs   of all steps: %d recorded, %d replays, %d misses; at most %d kept\n", r.Captures, r.Replays, r.Misses, r.Kept)
	fmt.Fprintf(&b, "memory   %s of the device, %s pinned\n", cuda.Bytes(r.Memory), cuda.Bytes(r.Pinned))
	if r.Host > 0 {
		grew := "did not grow"
		if r.Growth > 0 {
			grew = "grew by " + cuda.Bytes(r.Growth)
		}
		fmt.Fprintf(&b, "host     %s a step; resident memory %s since the first\n", Seconds(r.Host), grew)
	}
	fmt.Fprintf(&b, "bound    %s a step at least; weighted by FLOP, a launch has %.2f blocks\n\n", Seconds(r.Bound), r.Blocks)
	r.kernels(&b)
	b.WriteString("\nBlocks are counted over all replicas of a launch; by FLOP is their mean weighted by FLOP; waves are how often they fill the card.\n" +
		"The bound of a launch is the largest of three times: its overhead; its FLOP at the peak of as many multiprocessors as it has blocks\n" +
		"(fp32, or the tensor cores' peak for bf16 and tf32x3 products on them); its bytes at the bandwidth of the memory.\n" +
		"Copies and waits are not in the bound.\n")
	return b.String()
}

func (r *Report) kernels(b *strings.Builder) {
	width := len("kernel")
	for _, k := range r.Kernels {
		width = max(width, len(k.name()))
	}
	fmt.Fprintf(b, "%-*s %10s %26s %10s %7s %7s %4s %8s %7s %9s %9s %10s %7s\n", width, "kernel", "launches", "blocks: least, mean, most", "by FLOP",
		"threads", "shared", "regs", "resident", "waves", "GFLOP", "GB", "ms", "share")
	for _, k := range r.Kernels {
		registers := "?"
		if k.Registers > 0 {
			registers = fmt.Sprint(k.Registers)
		}
		fmt.Fprintf(b, "%-*s %10s %8d %8s %8d %10.2f %7d %7d %4s %8d %7.3g %9s %9s %10s %5.1f %%\n", width, k.name(), Number(k.Launches),
			k.Least, fmt.Sprintf("%.2f", k.Mean), k.Most, k.Weighted, k.Threads, k.Static+k.Dynamic, registers, k.Resident, k.Waves,
			short(k.Flops/1e9), short(k.Bytes/1e9), short(1000*k.Bound), 100*k.Share)
	}
}

// name returns the name of the kernel, in parentheses if it is the runtime's.
func (u *Use) name() string {
	if u.Own {
		return "(" + u.Name + ")"
	}
	return u.Name
}

// short formats three digits, or all digits before the point.
func short(x float64) string {
	if x >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// Seconds formats a time in seconds or milliseconds, with four digits.
func Seconds(s float64) string {
	if s >= 1 {
		return fmt.Sprintf("%.4g s", s)
	}
	return fmt.Sprintf("%.4g ms", 1000*s)
}

// Number formats a mean over steps: without decimals if it is whole or large.
func Number(x float64) string {
	if x == float64(int64(x)) || x >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

func bytes(n float64) string { return cuda.Bytes(int64(n)) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
