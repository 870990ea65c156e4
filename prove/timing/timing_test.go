package timing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/counted"
	"github.com/arithlang/mlc/sim/simulated"
)

// compiled is specs/tiny.arith. Measurements do not change it.
var compiled = sync.OnceValues(func() (*live.Model, error) {
	p, found, err := compiler.Compile(check.Options{Path: "../../specs/tiny.arith", Read: os.ReadFile})
	if err != nil || found.HasErrors() {
		return nil, fmt.Errorf("%v %w", found, err)
	}
	return live.New(p)
})

func tiny(t *testing.T) *live.Model {
	t.Helper()
	m, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t *testing.T) cuda.Driver {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestOnTheSimulator wants every kernel that a step launches, rows that add up to the step, and
// nothing about a missing library.
func TestOnTheSimulator(t *testing.T) {
	m := tiny(t)
	before := m.Train
	got, err := Measure(t.Context(), m, open(t), Options{Warm: 1, Steps: 2, Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "tiny" || got.Batch != 2 || got.MicroBatch > 2 || got.Warm != 1 || got.Steps != 2 || got.Marked != 2 || got.Reason != "" || got.Products != nil {
		t.Errorf("%+v", got)
	}
	if got.Seconds <= 0 || got.Host <= 0 || got.Ahead <= 0 || got.Busy <= 0 || got.Busy > 1 || got.Peak.Flops <= 0 || got.Peak.Bytes <= 0 {
		t.Errorf("%+v", got)
	}
	sum, launches, named := 0.0, 0.0, map[string]bool{}
	for _, r := range got.Rows {
		sum += r.Seconds
		named[r.Name] = true
		if r.Seconds < 0 || math.IsNaN(r.Share) {
			t.Errorf("%+v", r)
		}
		if r.Launches > 0 && r.Name[0] != '(' {
			launches += r.OnGPU
			if r.Median <= 0 || r.Flops+r.Bytes <= 0 || r.OfPeak <= 0 || r.Bound == "" {
				t.Errorf("%+v", r)
			}
		}
	}
	if math.Abs(sum-got.Timed) > 1e-6*got.Timed || len(named) != len(got.Rows) || launches < 10 || launches >= got.Kernels {
		t.Errorf("rows of %g s, a step of %g; %g launches of %g", sum, got.Timed, launches, got.Kernels)
	}
	text, err := json.Marshal(got)
	var back Timing
	if err != nil || json.Unmarshal(text, &back) != nil || len(back.Rows) != len(got.Rows) || back.Seconds != got.Seconds {
		t.Errorf("%v: %s", err, text)
	}
	if m.Train.Batch != before.Batch || m.Train.MicroBatch != before.MicroBatch {
		t.Error("the model has changed")
	}
}

// TestWithoutAClock uses a device without a running clock, and checks that this is reported.
func TestWithoutAClock(t *testing.T) {
	c, err := card.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	d, err := counted.Open(counted.Options{Card: c})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Measure(t.Context(), tiny(t), d, Options{Warm: 2, Steps: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got.Reason == "" || got.Seconds != 0 || got.Ahead != 0 || got.Timed != 0 || got.Peak.Flops != 0 || got.Steps != 3 || got.Kernels < 10 || got.Driver >= got.Kernels {
		t.Errorf("%+v", got)
	}
	for _, r := range got.Rows {
		if r.Seconds != 0 || r.Median != 0 || r.Flops != 0 || r.OfPeak != 0 {
			t.Errorf("%+v", r)
		}
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
}

// TestEnds has no time, and then a context that has ended.
func TestEnds(t *testing.T) {
	m := tiny(t)
	got, err := Measure(t.Context(), m, open(t), Options{Warm: 5, Steps: 50, Batch: 2, End: time.Now()})
	if err != nil || got.Warm != 1 || got.Steps != 1 || got.Marked != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := Measure(ctx, m, open(t), Options{Steps: 1, Batch: 2}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// TestProducts compares the kernels' products with a library's. Each product kernel has a row,
// rows agree with the whole, and the timed products are the machine's.
func TestProducts(t *testing.T) {
	m, d := tiny(t), open(t)
	library := simulated.NewMultiplier(d)
	got, err := Measure(t.Context(), m, d, Options{Warm: 1, Steps: 1, Batch: 2, Library: library})
	if err != nil {
		t.Fatal(err)
	}
	p := got.Products
	if p == nil || library.Calls == 0 || p.Library != library.Name() || p.Theirs <= 0 || p.Ours <= 0 || math.Abs(p.Ratio-p.Ours/p.Theirs) > 1e-9*p.Ratio {
		t.Fatalf("%d calls, %+v", library.Calls, p)
	}
	named := map[string]bool{}
	for _, r := range p.Rows {
		named[r.Name] = true
		if r.Theirs <= 0 || r.Ours <= 0 || math.Abs(r.Ratio-r.Theirs/r.Ours) > 1e-9*r.Ratio {
			t.Errorf("%+v", r)
		}
	}
	trained := 0
	for _, r := range got.Rows {
		for _, k := range m.GPU.Kernels {
			if k.Name == r.Name && k.Gemm != nil {
				if trained++; !named[r.Name] {
					t.Errorf("no row of %s", r.Name)
				}
			}
		}
	}
	if trained == 0 || trained != len(p.Rows) {
		t.Errorf("%d rows of %d products", len(p.Rows), trained)
	}
}

// refusing is a library that computes nothing.
type refusing struct{ *simulated.Multiplier }

func (refusing) Multiply(*cuda.Product) error { return errors.New("refused") }

// TestProductsFail keeps what was timed before the library failed.
func TestProductsFail(t *testing.T) {
	d := open(t)
	got, err := Measure(t.Context(), tiny(t), d, Options{Warm: 1, Steps: 1, Batch: 2, Library: refusing{simulated.NewMultiplier(d)}})
	if err != nil || got.Seconds <= 0 || len(got.Rows) < 10 || got.Products == nil || got.Products.Failed == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if text := got.Products.Table(); text != "products by simulated products are not compared: "+got.Products.Failed+"\n" || !strings.Contains(text, "refused") {
		t.Error(text)
	}
}
