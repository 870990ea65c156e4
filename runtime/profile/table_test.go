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
	pairs := Table{Steps: 1, Threads: 1, Turns: true, Peak: peak.Peak{Flops: 1000, Narrow: 4000, Bytes: 100}}
	pairs.Add("some", Lap{Launches: 1, Time: time.Second, Cost: cpu.Cost{Flops: 1000, Narrow: 200, Bytes: 1}})
	if r := pairs.Rows[0]; math.Abs(r.OfPeak-0.85) > 1e-9 {
		t.Errorf("in turns: %g of the peak, want 0.85", r.OfPeak)
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

// TestNoTime has a device without a clock: nothing is divided by it.
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
