package profile

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda/peak"
)

func TestTable(t *testing.T) {
	cores := Table{Steps: 1, Threads: 1, Peak: peak.Peak{Flops: 1000, Narrow: 4000, TF32: 2000, Bytes: 100}}
	cores.Add("all", Lap{Launches: 1, Time: time.Second, Cost: cpu.Cost{Flops: 2000, Narrow: 2000, Bytes: 1}})
	cores.Add("some", Lap{Launches: 1, Time: time.Second, Cost: cpu.Cost{Flops: 1000, Narrow: 200, Bytes: 1}})
	cores.Add("halves", Lap{Launches: 1, Time: time.Second, Cost: cpu.Cost{Flops: 1200, Narrow: 800, Split: 200, Bytes: 1}})
	for i, want := range []float64{0.5, 0.8, 0.3} {
		if r := cores.Rows[i]; math.Abs(r.OfPeak-want) > 1e-9 {
			t.Errorf("%s on tensor cores: %g of the peak, want %g", r.Name, r.OfPeak, want)
		}
	}
	table := Table{Steps: 2, Threads: 2, Step: 0.010, Peak: peak.Peak{Flops: 1000, Bytes: 100}}
	table.Add("nothing", Lap{Time: time.Second})
	table.Add("small", Lap{Launches: 2, Time: 4 * time.Millisecond, Cost: cpu.Cost{Flops: 2, Bytes: 0.1}})
	table.Add("large", Lap{Launches: 6, OnGPU: 4, Median: 3 * time.Microsecond, Time: 20 * time.Millisecond, Cost: cpu.Cost{Flops: 2, Bytes: 1}})
	table.Add("free", Lap{Launches: 1})
	table.Finish("rest", table.Rest())
	want := []Row{
		{Name: "large", Launches: 3, OnGPU: 2, Median: 3, Seconds: 0.005, Share: 0.5, Flops: 100, Bytes: 50, OfPeak: 0.5, Bound: "memory"},
		{Name: "small", Launches: 1, Seconds: 0.001, Share: 0.1, Flops: 500, Bytes: 25, OfPeak: 0.5, Bound: "compute"},
		{Name: "free", Launches: 0.5},
		{Name: "rest", Seconds: 0.004, Share: 0.4},
	}
	if len(table.Rows) != len(want) {
		t.Fatalf("%+v", table.Rows)
	}
	for i, got := range table.Rows {
		for name, pair := range map[string][2]float64{
			"launches": {got.Launches, want[i].Launches}, "on GPU": {got.OnGPU, want[i].OnGPU}, "median": {got.Median, want[i].Median},
			"seconds": {got.Seconds, want[i].Seconds}, "share": {got.Share, want[i].Share}, "flops": {got.Flops, want[i].Flops},
			"bytes": {got.Bytes, want[i].Bytes}, "of peak": {got.OfPeak, want[i].OfPeak},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s: %s is %g, want %g", want[i].Name, name, pair[0], pair[1])
			}
		}
		if got.Name != want[i].Name || got.Bound != want[i].Bound {
			t.Errorf("row %d: %+v, want %+v", i, got, want[i])
		}
	}
}

// TestProcessor compares kernels with their slowest resource: products, others, or the memory
// that holds the bytes of a launch.
func TestProcessor(t *testing.T) {
	table := Table{Steps: 1, Threads: 1, CPU: true, ISA: cpu.AVX512BF16, Begun: 200, Peak: peak.Peak{Flops: 1000, Narrow: 4000, Bytes: 100},
		Levels: []Level{{Size: 16 << 10, Bytes: 4 << 20}, {Size: 2 << 20, Bytes: 1 << 20}}}
	for _, c := range []struct {
		launches int
		cost     cpu.Cost
		bound    string
		ofPeak   float64
	}{
		{1, cpu.Cost{Flops: 1000, Products: 500, Narrow: 200, Others: 150}, "products", 0.3 + 0.05 + 0.3},
		{1, cpu.Cost{Flops: 1000, Products: 100, Others: 300}, "others", 0.1 + 0.6},
		{1, cpu.Cost{Flops: 1000, Products: 100, Others: 300, Instructions: cpu.Instructions{AVX512: 100, AVX2: 1000}}, "others", 0.1 + 0.6},
		{1, cpu.Cost{Flops: 1000, Products: 100, Others: 300, Instructions: cpu.Instructions{AVX512: 140}}, "front end", 0.1 + 0.7},
		{1, cpu.Cost{Flops: 1000, Products: 800, Others: 300, Instructions: cpu.Instructions{AVX512: 140}}, "products", 0.8 + 0.7},
		{1, cpu.Cost{Bytes: 16 << 10}, "16 KiB", 1. / 256},
		{1, cpu.Cost{Bytes: 32 << 10}, "2 MiB", 1. / 32},
		{2, cpu.Cost{Bytes: 32 << 10}, "16 KiB", 1. / 128},
		{1, cpu.Cost{Bytes: 4 << 20}, "memory", 4 << 20 / 100.},
	} {
		table.Rows = nil
		table.Add("kernel", Lap{Launches: c.launches, Time: time.Second, Cost: c.cost})
		if r := table.Rows[0]; r.Bound != c.bound || math.Abs(r.OfPeak-c.ofPeak) > 1e-9 {
			t.Errorf("%+v: %g of %s, want %g of %s", c.cost, r.OfPeak, r.Bound, c.ofPeak, c.bound)
		}
	}
}

// TestNoTime profiles a device without a clock: nothing is divided by zero.
func TestNoTime(t *testing.T) {
	table := Table{Steps: 1, Threads: 1}
	table.Add("k", Lap{Launches: 1, OnGPU: 1, Cost: cpu.Cost{Flops: 5, Bytes: 5}})
	table.Finish("rest", 0)
	for _, r := range table.Rows {
		if r.Share != 0 || r.Flops != 0 || r.Bytes != 0 || r.Bound != "" {
			t.Errorf("%+v", r)
		}
	}
	if _, err := json.Marshal(table.Rows); err != nil {
		t.Error(err)
	}
}
