package train

import (
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/bench"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/train"
)

// TestForecast wants the time of all examples at the measured rate, or the budget's own time.
func TestForecast(t *testing.T) {
	measured := &bench.Result{Seconds: 0.5, Examples: 20, Memory: 1 << 20}
	trains := config.Train{Batch: 10, MicroBatch: 5}
	for _, c := range []struct {
		budget   train.Budget
		flops    float64
		examples int64
		seconds  float64
	}{
		{train.Budget{Steps: 40}, 0, 400, 20},
		{train.Budget{Examples: 1000}, 0, 1000, 50},
		{train.Budget{FLOP: 5e6}, 1e5, 500, 25},
		{train.Budget{FLOP: 5e6}, 0, 0, 0},
		{train.Budget{Time: time.Minute}, 0, 0, 60},
	} {
		var f forecast
		f.measured(measured, &job{budget: c.budget, trains: trains, flops: c.flops})
		if f.Examples != c.examples || f.Seconds != c.seconds {
			t.Errorf("%+v: %d examples in %g s, want %d in %g", c.budget, f.Examples, f.Seconds, c.examples, c.seconds)
		}
	}
}

// TestWriteForecasts leaves out of the sum what is done. Trainings side by side take less time. One
// of unknown time leaves no sum.
func TestWriteForecasts(t *testing.T) {
	all := []forecast{
		{Name: "a", State: "new", Examples: 12000, Step: 0.0123456, Memory: 3 << 20, Seconds: 7200},
		{Name: "b", State: "stopped: step 7", Seconds: 3600},
		{Name: "c", State: finished},
	}
	var out strings.Builder
	if err := writeForecasts(&out, all, 2); err != nil {
		t.Fatal(err)
	}
	want := `training  begins           examples  a step   memory  time
a         new              12,000    12.35ms  3 MiB   2h0m
b         stopped: step 7  -         -        -       1h0m
c         done             -         -        -       -
2 of 3 to train: about 1h30m without tests
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	for want, some := range map[string][]forecast{"\n1 of 1 to train: about 1h0m without tests\n": all[1:2], "\n0 of 1 to train\n": all[2:]} {
		out.Reset()
		if err := writeForecasts(&out, some, 2); err != nil || !strings.HasSuffix(out.String(), want) {
			t.Errorf("%v, got\n%swant%s", err, out.String(), want)
		}
	}
	out.Reset()
	if err := writeForecasts(&out, append(all, forecast{Name: "d", State: "new"}), 1); err != nil || !strings.HasSuffix(out.String(), "\n3 of 4 to train\n") {
		t.Errorf("%v, got\n%s", err, out.String())
	}
}
