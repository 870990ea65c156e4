package specs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/counted"
)

// The files of the table, and of the page that ends with it.
const (
	launchesFile    = "launches.md"
	performanceFile = "../docs/performance.md"
	launchesCard    = "H200"
	launchesTitle   = "# GPU launches of a training step\n"
	launchesPreface = launchesTitle + `
Written by ` + "`go test -tags full ./specs -run Launches -update`" + `, never by hand.

A driver that computes nothing counts one training step of every spec (the first of a sweep) for an ` + launchesCard + `, and
of some with ` + "`train.precision = bf16`" + ` or ` + "`tf32x3`" + `. ` + "`mlc explain FILE --stage launches`" + ` shows each kernel. Nothing here is
measured. The columns:

| column | counts |
|---|---|
| plan | launches of the plan |
| kernels | launches of the device, after equal pieces of the batch have become one |
| calls | launches that reach the driver; a graph is one |
| blocks | thread blocks of a mean launch, weighted by FLOP: the card has 132 multiprocessors, and each holds several |
| waits | synchronisations, after which the device is idle; the host waits for the last of these steps, as for a report, and where memory has to grow; its limit of two steps ahead does not count |
| copied | traffic to and from the device |
| memory | the peak on the device |
| misses | stretches of work that would be worth a graph but are launched one by one, in that many *steps* |
| at least | the sum of a lower bound for each launch: the largest of its overhead, its FLOP at the peak (fp32, or tensor cores for their products) of as many multiprocessors as it has blocks, and its bytes at the memory bandwidth |
`
)

// TestLaunches compares the launches, memory and copies of specs with the committed table, so that
// a change of geometry shows as a difference. It takes a few specs, or all with -tags full.
func TestLaunches(t *testing.T) {
	var all []trainable
	for _, file := range full.Some(few(t), 4) {
		all = append(all, trainable{file, ""})
	}
	all = append(all, full.Some(onCores, 1)...)
	rows := make([]string, len(all))
	t.Run("specs", func(t *testing.T) {
		for i, c := range all {
			t.Run(c.file+c.precision, func(t *testing.T) {
				t.Parallel()
				rows[i] = launchRows(t, c.file, c.precision)
			})
		}
	})
	if !full.Tests {
		table := read(t, launchesFile)
		for i, row := range rows {
			if !strings.Contains(table, row) {
				t.Errorf("%s%s: %s does not have\n%s", all[i].file, all[i].precision, launchesFile, row)
			}
		}
		return
	}
	got := launchesPreface + "\n" + launchesHead + strings.Join(rows, "")
	page, _, _ := strings.Cut(read(t, performanceFile), "\n#"+launchesTitle)
	golden.Compare(t, launchesFile, got)
	golden.Compare(t, performanceFile, page+"\n#"+got)
}

const launchesHead = "| spec | plan | kernels | calls | blocks | waits | copied | memory | misses | steps | at least |\n" +
	"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"

// counting bounds memory: the largest specs record a gigabyte a step.
var counting = make(chan struct{}, 2)

// A trainable is a spec in a precision, or in its own.
type trainable struct{ file, precision string }

// onCores lists specs that are also counted with products on tensor cores.
var onCores = []trainable{
	{"addition.arith", "bf16"}, {"looped8x2.arith", "bf16"}, {"small/looped.arith", "bf16"},
	{"looped8x2.arith", "tf32x3"}, {"small/looped.arith", "tf32x3"},
}

// launchRows returns the rows of a spec, one for each training, in its own precision or another.
func launchRows(t *testing.T, file, precision string) string {
	c, err := card.Find(launchesCard)
	if err != nil {
		t.Fatal(err)
	}
	opts := check.Options{Path: file, Read: os.ReadFile}
	points, list := check.Points(opts)
	silent(t, file, list)
	if len(points) > 0 {
		opts.Set = points[0].Set
	}
	suffix := ""
	if precision != "" {
		opts.Set = append(slices.Clone(opts.Set), "train.precision="+precision)
		suffix = " in " + precision
	}
	p, list, err := compiler.Compile(opts)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if list.HasErrors() {
		uncounted(&b, strings.TrimSuffix(file, ".arith")+suffix, list[0].Message)
		return b.String()
	}
	for _, training := range p.Trainings() {
		name := strings.TrimSuffix(file, ".arith") + suffix
		if training.Stage != "" {
			name += " (" + training.Stage + ")"
		}
		m, err := live.New(training)
		if err != nil {
			t.Fatal(err)
		}
		counting <- struct{}{}
		r, err := m.Count(counted.Options{Card: c})
		<-counting
		if err != nil {
			uncounted(&b, name, err.Error())
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f | %s | %s | %s | %d | %d | %s |\n", name, counted.Number(r.Plan), counted.Number(r.Launches), counted.Number(r.Calls),
			r.Blocks, counted.Number(r.Waits), cuda.Bytes(int64(r.ToDevice.Bytes+r.ToHost.Bytes)), cuda.Bytes(r.Memory), r.Misses, r.Steps, counted.Seconds(r.Bound))
	}
	return b.String()
}

// uncounted returns the row of a training that says why it is empty.
func uncounted(b *strings.Builder, name, why string) {
	fmt.Fprintf(b, "| %s |%s %s |\n", name, strings.Repeat(" |", strings.Count(launchesHead, "---")-2), why)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
