package specs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/sim/cluster"
	"github.com/arithlang/mlc/sim/counted"
)

const clusterFile = "../docs/cluster-plan.md"

// A planned is a table of the page: a spec on growing numbers of GPUs, or only sums.
type planned struct {
	name  string // of the table, in a comment before it
	spec  string // "": sums alone
	set   []string
	batch int // 0: the spec's
	chunk int // 0: the compiler's
	steps int
	gpus  []int
}

// steps of one shape need not be counted more than once.
var plans = []planned{
	{name: "small", spec: "bias/addition_abs.arith", chunk: 1, steps: 1, gpus: []int{1, 2, 4, 8, 16, 32, 128}},
	{name: "small, large batch", spec: "bias/addition_abs.arith", batch: 32 << 10, steps: 1, gpus: []int{1, 8, 64, 1024}},
	{name: "headline", spec: "looped8x2.arith", set: []string{"train.precision=bf16"}, steps: 1, gpus: []int{1, 2, 3, 8, 16}},
	{name: "headline, large batch", spec: "looped8x2.arith", set: []string{"train.precision=bf16"}, batch: 64 << 10, chunk: 64, steps: 1, gpus: []int{64, 1024}},
}

var planHeads = []string{"GPUs", "chunks", "nodes", "sent", "gradients", "mean", "exchange", "sum", "gather", "optimizer", "step", "efficiency", "overlapped", "sharded", "levels", "ring"}

// TestClusterPlan counts the tables of the page again.
func TestClusterPlan(t *testing.T) {
	full.Only(t)
	k, err := card.Find(launchesCard)
	if err != nil {
		t.Fatal(err)
	}
	network, err := cluster.FindNetwork("400G")
	if err != nil {
		t.Fatal(err)
	}
	on := cluster.New(k, 1, 8, network)
	tables := make([]string, len(plans))
	t.Run("specs", func(t *testing.T) {
		for i, p := range plans {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				tables[i] = p.table(t, on, network.Name)
			})
		}
	})
	page := read(t, clusterFile)
	for i, p := range plans {
		page = replaced(t, page, p.name, tables[i])
	}
	page = replaced(t, page, "sums", sumsAlone(on, network.Name))
	golden.Compare(t, clusterFile, page)
	if t.Failed() {
		t.Log("after -update, read the text of the page again")
	}
}

func (p *planned) table(t *testing.T, on cluster.Cluster, network string) string {
	c, list, err := compiler.Compile(check.Options{Path: p.spec, Read: os.ReadFile, Set: p.set})
	if err != nil || list.HasErrors() {
		t.Fatal(err, list)
	}
	m, err := live.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if p.batch > 0 {
		m.Train.Batch = p.batch
	}
	if p.chunk > 0 {
		m.Train.Chunk, m.Train.MicroBatch = p.chunk, min(p.chunk, m.Train.MicroBatch)
	}
	counting <- struct{}{}
	defer func() { <-counting }()
	plan, err := m.CountOn(counted.Options{Card: on.Card}, on, network, p.gpus, p.steps)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Markdown(planHeads...)
}

// sumsAlone counts the sums of 1,024 chunks, by the number of gradients and of GPUs.
func sumsAlone(on cluster.Cluster, network string) string {
	var b strings.Builder
	heads := []string{"GPUs", "chunks", "nodes", "sent", "exchange", "sum", "gather", "step", "levels", "ring"}
	for i, elements := range []int{1_592_064, 63_514_624, 1e9} {
		p := cluster.NewPlan("", on, network, 1024, 1, elements)
		for _, on.GPUs = range []int{1024, 1000, 768} {
			p.Add(on, counted.Work{}, 0)
		}
		for j, line := range strings.SplitAfter(strings.TrimSpace(p.Markdown(heads...)), "\n") {
			switch line = strings.TrimSuffix(line, "\n"); {
			case j == 0 && i == 0:
				line = "| gradients " + line
			case j == 1 && i == 0:
				line = "|---:" + line
			case j > 1:
				line = fmt.Sprintf("| %.1f M %s", float64(elements)/1e6, line)
			default:
				continue
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// replaced returns text with another table after the comment that names it, up to an empty line.
func replaced(t *testing.T, page, name, table string) string {
	t.Helper()
	mark := "<!-- counted: " + name + " -->\n"
	before, after, found := strings.Cut(page, mark)
	_, rest, ended := strings.Cut(after, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table %q", clusterFile, name)
	}
	return before + mark + table + "\n" + rest
}

// BenchmarkDraw draws the problems of whole steps, as each rank does.
func BenchmarkDraw(b *testing.B) {
	for _, file := range []string{"bias/addition_abs.arith", "looped8x2.arith"} {
		p, list, err := compiler.Compile(check.Options{Path: file, Read: os.ReadFile})
		if err != nil || list.HasErrors() {
			b.Fatal(err, list)
		}
		m, err := live.New(p)
		if err != nil {
			b.Fatal(err)
		}
		t := train.Trainer{Plan: &m.Plan, Params: m.Params, Config: m.Train}
		if err := t.SetTask(m.Task, tasks.Kit()); err != nil {
			b.Fatal(err)
		}
		d, n := t.Drawer(), m.Train.Batch
		b.Run(strings.TrimSuffix(file, ".arith"), func(b *testing.B) {
			for i := range b.N {
				if _, err := d.Train(int64(i*n), n); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/example")
		})
	}
}
