package cluster_test

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/sim/cluster"
	"github.com/arithlang/mlc/sim/counted"
)

func of(t testing.TB, gpus, perMachine int, network string) cluster.Cluster {
	t.Helper()
	k, err := card.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	n, err := cluster.FindNetwork(network)
	if err != nil {
		t.Fatal(err)
	}
	return cluster.New(k, gpus, perMachine, n)
}

// simulate returns the arrival of the last message, in seconds, if messages are sent as soon as
// they can be. Ports handle one message at a time.
func simulate(c cluster.Cluster, messages []cluster.Message) float64 {
	type port struct{ rank, between, direction int }
	kind := func(m cluster.Message) int {
		if m.From/c.PerMachine != m.To/c.PerMachine {
			return 1
		}
		return 0
	}
	links := [2]cluster.Link{c.Within, c.Between}
	pending := slices.Clone(messages)
	slices.SortFunc(pending, func(a, b cluster.Message) int {
		return cmp.Or(cmp.Compare(turn(c, a), turn(c, b)), cmp.Compare(a.From, b.From))
	})
	free, now, end := map[port]float64{}, 0.0, 0.0
	for len(pending) > 0 {
		next := math.Inf(1)
		pending = slices.DeleteFunc(pending, func(m cluster.Message) bool {
			k := kind(m)
			out, in := port{m.From, k, 0}, port{m.To, k, 1}
			if at := max(free[out], free[in]); at > now {
				next = min(next, at)
				return false
			}
			done := now + links[k].Overhead.Seconds() + float64(m.Bytes)/links[k].Bandwidth
			free[out], free[in] = done, done
			end = max(end, done+links[k].Latency.Seconds())
			return true
		})
		now = next
	}
	return end
}

// turn returns a key that sorts messages so that no two of equal length need the same port.
func turn(c cluster.Cluster, m cluster.Message) int {
	machines := c.Machines()
	machine := (m.To/c.PerMachine - m.From/c.PerMachine + machines) % machines
	local := (m.To%c.PerMachine - m.From%c.PerMachine + c.PerMachine) % c.PerMachine
	return machine*c.PerMachine + local
}

// equal reports whether all ranks send equally many messages of one length.
func equal(messages []cluster.Message, gpus int) bool {
	times := make([]int, gpus)
	for _, m := range messages {
		if m.Bytes != messages[0].Bytes {
			return false
		}
		times[m.From]++
	}
	return slices.Min(times) == slices.Max(times)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// most returns the bytes of the rank that sends most, over all rounds.
func most(gpus int, rounds [][]cluster.Message) int64 {
	sent := make([]int64, gpus)
	for _, m := range slices.Concat(rounds...) {
		sent[m.From] += m.Bytes
	}
	return slices.Max(sent)
}

// TestExchange adds gradients in goroutines, one a rank, and compares their messages with the
// model: bytes exactly, seconds with a simulation. No schedule is faster than the busiest port. A
// schedule without idle ports takes at most twice as long, and here at most a quarter more.
// Equally long messages take exactly as long as the model says.
func TestExchange(t *testing.T) {
	const quarter = 1.25
	worst, runs, evens := 1.0, 0, 0
	for _, network := range []string{"400G", "10"} {
		for _, elements := range []int{960, 4801} {
			for chunks := 1; chunks <= 24; chunks += 1 + chunks/8 {
				for _, perMachine := range []int{1, 2, 4} {
					for gpus := 2; gpus <= min(chunks, 12); gpus++ {
						c, s := of(t, gpus, perMachine, network), cluster.Sum{Elements: elements, Chunks: chunks}
						compare := func(parts cluster.Parts, rounds [][]cluster.Message) {
							runs++
							if got := most(gpus, rounds); got != parts.Sent {
								t.Errorf("%d GPUs, %d a machine, %d chunks: %d bytes were sent, the model says %d", gpus, perMachine, chunks, got, parts.Sent)
							}
							took, even := []float64{0, 0}, gpus%perMachine == 0
							for i, round := range rounds {
								took[2*i/len(rounds)] += simulate(c, round)
								even = even && equal(round, gpus)
							}
							if even {
								evens++
							}
							for i, want := range []float64{parts.Exchange, parts.Gather} {
								slower := took[i] / want
								worst = max(worst, slower)
								if slower < 1-1e-9 || slower > quarter || even && !near(slower, 1) {
									t.Errorf("%d GPUs, %d a machine, %d chunks, %d elements: %g s, the model says %g", gpus, perMachine, chunks, elements, took[i], want)
								}
							}
						}
						compare(c.Direct(s), play(t, c, s, (*rank).direct))
						if parts, ok := c.Hierarchical(s); ok {
							compare(parts, play(t, c, s, (*rank).levels))
						} else if gpus%perMachine == 0 && gpus > perMachine {
							t.Errorf("%d GPUs, %d a machine: no exchange in levels", gpus, perMachine)
						}
					}
				}
			}
		}
	}
	if t.Logf("%d exchanges, %d of equal messages; at most %.3f times the model's seconds", runs, evens, worst); evens < 50 {
		t.Errorf("only %d exchanges of equal messages", evens)
	}
}

// TestRing simulates a ring. A GPU begins a step when it has ended the step before and its
// neighbour's data has arrived.
func TestRing(t *testing.T) {
	for _, gpus := range []int{2, 3, 8} {
		c := of(t, gpus, 8, "400G")
		s := cluster.Sum{Elements: 840 * 1000, Chunks: gpus}
		k := c.Within
		at := make([]float64, gpus)
		for range 2 * (gpus - 1) {
			next := make([]float64, gpus)
			for i := range at {
				from := (i + gpus - 1) % gpus
				next[i] = max(at[i], at[from]) + (k.Overhead + k.Latency).Seconds() + 4*float64(s.Elements/gpus)/k.Bandwidth
			}
			at = next
		}
		if got := c.Ring(s); !near(got, slices.Max(at)) {
			t.Errorf("%d GPUs: %g s, step by step %g", gpus, got, slices.Max(at))
		}
	}
	// 2 machines of 8: 242 MB go through eight ports of 50 GB/s.
	c := of(t, 16, 8, "400G")
	s := cluster.Sum{Elements: 60e6, Chunks: 16}
	bytes := 2 * 4 * 60e6 * 15 / 16.
	if got, want := c.Ring(s), 26*3.8e-6+4*15e-6+bytes/8/50e9; !near(got, want) {
		t.Errorf("two machines: %g s, want %g", got, want)
	}
}

// TestThousand has 128 machines of eight GPUs, each rank with a chunk; the numbers are computed
// by hand.
func TestThousand(t *testing.T) {
	c := of(t, 1024, 8, "400G")
	s := cluster.Sum{Elements: 1 << 20, Chunks: 1024}
	p := c.Direct(s)
	// A rank sends 1016 slices of 4 KiB through its network port, and 7 within its machine.
	if want := 14e-6 + 1016*(1e-6+4096/50e9); !near(p.Exchange, want) || !near(p.Gather, want) {
		t.Errorf("exchange %g s, gather %g s, want %g", p.Exchange, p.Gather, want)
	}
	if want := int64(2 * 1023 * 4096); p.Sent != want {
		t.Errorf("%d bytes, want %d", p.Sent, want)
	}
	// 1023 additions of 4 KiB, each shorter than a node of a graph.
	if want := 1023e-6; !near(p.Sum, want) {
		t.Errorf("sum %g s, want %g", p.Sum, want)
	}
	// First 7 slices of 512 KiB, then 127 of 4 KiB.
	h, ok := c.Hierarchical(s)
	if want := 3.4e-6 + 7*(0.4e-6+(1<<19)/450e9) + 14e-6 + 127*(1e-6+4096/50e9); !ok || !near(h.Exchange, want) || !near(h.Gather, want) {
		t.Errorf("by levels: %g s, %g s, want %g", h.Exchange, h.Gather, want)
	}
	// 7 launches of 3 x 512 KiB outside a graph, and 127 in one.
	if want := 7*2e-6 + 127*1e-6; !near(h.Sum, want) {
		t.Errorf("by levels: sum %g s, want %g", h.Sum, want)
	}
	if want := int64(2 * (7<<19 + 127*4096)); h.Sent != want {
		t.Errorf("by levels: %d bytes, want %d", h.Sent, want)
	}
	// 1023 additions that each move 3 x 4 MiB.
	if got, want := c.Direct(cluster.Sum{Elements: 1 << 30, Chunks: 1024}).Sum, 1023*3*(1<<22)/4800e9; !near(got, want) {
		t.Errorf("sum of long slices %g s, want %g", got, want)
	}
}

func TestFindNetwork(t *testing.T) {
	for asked, want := range map[string]float64{"400G": 50e9, "ndr": 50e9, "hdr": 25e9, "100G EDR": 12.5e9, "800g": 100e9, "12.5": 1.5625e9} {
		if n, err := cluster.FindNetwork(asked); err != nil || n.Bandwidth != want || n.Overhead <= 0 || n.Latency <= 0 {
			t.Errorf("%q: %+v, %v", asked, n, err)
		}
	}
	for _, asked := range []string{"", "token ring", "-1", "0", "1e9", "NaN"} {
		if n, err := cluster.FindNetwork(asked); err == nil || !strings.Contains(err.Error(), "there are 100G EDR, 200G HDR") {
			t.Errorf("%q: %+v, %v", asked, n, err)
		}
	}
}

// TestPlan adds rows of known work.
func TestPlan(t *testing.T) {
	p := cluster.Plan{Name: "model", Elements: 4e6, Chunks: 6}
	work := func(gradients float64) counted.Work {
		return counted.Work{Gradients: gradients, Mean: gradients, Norm: 1e-3, Update: 3e-3}
	}
	p.Add(of(t, 1, 2, "400G"), work(60e-3), 1)
	p.Add(of(t, 4, 2, "400G"), work(20e-3), 1)
	one, four := p.Rows[0], p.Rows[1]
	if one.Step != 64e-3 || one.Efficiency != 1 || one.Sent != 0 || one.Overlapped != one.Step || one.Ring != one.Step || one.Sharded != one.Step || one.Hierarchical != 0 || one.Nodes != 1 {
		t.Errorf("one GPU: %+v", one)
	}
	// 1, 2, 1 and 2 chunks: chunks 1 and 2 are two nodes, chunks 4 and 5 are one.
	if four.Chunks != 2 || four.Nodes != 2 {
		t.Errorf("%d chunks and %d nodes", four.Chunks, four.Nodes)
	}
	exchange := four.Exchange + four.Sum + four.Gather
	if !near(four.Step, 24e-3+exchange) || !near(four.Efficiency, 64e-3/4/four.Step) || !near(four.Overlapped, 24e-3) ||
		!near(four.Sharded, 21.75e-3+exchange+four.Gather) || four.Hierarchical == 0 || four.Ring <= 24e-3 {
		t.Errorf("%+v", four)
	}
	if _, err := json.Marshal(&p); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.Split(p.String(), "\n\n")[1], "\n")
	if len(lines) != 3 || len(lines[0]) != len(lines[1]) || len(lines[1]) != len(lines[2]) {
		t.Errorf("rows are not aligned:\n%s", strings.Join(lines, "\n"))
	}
	if got, want := p.Markdown("GPUs", "nodes", "step"), "| GPUs | nodes | step |\n|---:|---:|---:|\n| 1 | 1 | 64 |\n| 4 | 2 | 24."; !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
}
