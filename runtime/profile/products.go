package profile

import (
	"context"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Products compares a library's matrix products with the program's kernels, over steps with a
// time for each launch. Steps differ in their work, so both times are for the work that the
// library did.
type Products struct {
	Library string       `json:"library"`         // its name
	Theirs  float64      `json:"library_seconds"` // per step
	Ours    float64      `json:"mlc_seconds"`     // for the same FLOP, at the rate of the program's kernels
	Ratio   float64      `json:"ratio"`           // mlc's time over the library's
	Rows    []ProductRow `json:"kernels"`
	Failed  string       `json:"failed,omitempty"` // why the comparison failed, if there is a library
}

// A ProductRow is one kernel whose products a library can compute.
type ProductRow struct {
	Name   string  `json:"name"`
	Theirs float64 `json:"library_flops_per_second"`
	Ours   float64 `json:"mlc_flops_per_second"`
	Ratio  float64 `json:"ratio"`
}

// compare times steps without and with the library. It compares nothing if there is no clock,
// and leaves the machine as it was.
func (r *Run) compare(ctx context.Context, g *GPU) error {
	m := r.Machine
	if m.Multiplier() == nil {
		return nil
	}
	was := m.Multiplies()
	defer m.Multiply(was)
	var laps [2][]Lap
	steps := 0
	for i, on := range []bool{false, true} {
		m.Multiply(on)
		if err := r.Step(m); err != nil { // prepares plans for new shapes
			return err
		}
		plan := NewStopwatch(m, r.Costs)
		var took cuda.Laps
		err := r.watched(true, func(w *cuda.Watch) (err error) {
			if steps, err = r.steps(ctx, 1, func() error { return r.Step(plan) }); err == nil {
				took, err = w.Read()
			}
			return err
		})
		if err != nil {
			return err
		}
		laps[i], _ = plan.Laps()
		for k := range laps[i] {
			laps[i][k].Time = took.Kernels[k].Time
		}
	}
	g.Products = r.products(laps[0], laps[1], steps)
	return nil
}

// products compares the times of both, nil if there is nothing to compare.
func (r *Run) products(ours, theirs []Lap, steps int) *Products {
	p := &Products{Library: r.Machine.Multiplier().Name()}
	for i, l := range theirs {
		o := ours[i]
		if !r.Machine.Product(i) || min(l.Time, o.Time) <= 0 || min(l.Flops, o.Flops) <= 0 {
			continue
		}
		row := ProductRow{Name: r.Names[i], Theirs: l.Flops / l.Time.Seconds(), Ours: o.Flops / o.Time.Seconds()}
		row.Ratio = row.Theirs / row.Ours
		p.Theirs += l.Time.Seconds() / float64(steps)
		p.Ours += l.Flops / row.Ours / float64(steps)
		p.Rows = append(p.Rows, row)
	}
	if p.Rows == nil {
		return nil
	}
	p.Ratio = p.Ours / p.Theirs
	return p
}

// String is one line for people.
func (p *Products) String() string {
	if p.Failed != "" {
		return "products by " + p.Library + " are not compared: " + p.Failed
	}
	return fmt.Sprintf("products by %s take %.3f ms a step, by mlc's kernels %.3f ms for the same FLOP: %.2f times as long", p.Library, 1e3*p.Theirs, 1e3*p.Ours, p.Ratio)
}

// Table adds a row for each kernel to that line.
func (p *Products) Table() string {
	var b strings.Builder
	width := len("kernel")
	for _, r := range p.Rows {
		width = max(width, len(r.Name))
	}
	fmt.Fprintf(&b, "%s\n", p)
	if p.Rows == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "%-*s %16s %12s %7s\n", width, "kernel", "library GFLOP/s", "mlc GFLOP/s", "ratio")
	for _, r := range p.Rows {
		fmt.Fprintf(&b, "%-*s %16.1f %12.1f %7.2f\n", width, r.Name, r.Theirs/1e9, r.Ours/1e9, r.Ratio)
	}
	return b.String()
}
