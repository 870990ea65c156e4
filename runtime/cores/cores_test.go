package cores

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1) }

// TestByHand compares steps with times that are computed by hand.
func TestByHand(t *testing.T) {
	four := Step{Chunks: []float64{10, 10, 10, 10}, Add: Stream{1, 120, 4}, Norm: 2, Rest: 3, Updates: []Stream{{8, 80, 100}, {1, 8, 1}}}
	drawn := four
	drawn.Draw = 12
	waking := four
	waking.Wake = 0.5
	for name, c := range map[string]struct {
		step    Step
		n       int
		memory  float64
		chunks  float64
		sums    float64
		update  float64
		seconds float64
	}{
		// One core adds 0 and 1 before it takes 2, and the rest when all chunks are taken.
		"one":   {four, 1, 0, 41, 2, 9, 41 + 2 + 2 + 9 + 3},
		"two":   {four, 2, 0, 21, 1, 5, 21 + 1 + 2 + 5 + 3}, // both end at 10; one adds and begins chunk 3 at 11
		"three": {four, 3, 0, 20, 3. / 3, 8./3 + 1, 20 + 1 + 2 + 8./3 + 1 + 3},
		"four":  {four, 4, 0, 10, 3. / 4, 3, 10 + .75 + 2 + 3 + 3},
		"more":  {four, 100, 0, 10, 3. / 4, 8./100 + 1, 10 + .75 + 2 + 1.08 + 3},
		// 3 additions of 120 bytes at 100 a second, 80 and 8 bytes of updates.
		"memory": {four, 100, 100, 10, 3.6, .8 + 1, 10 + 3.6 + 2 + 1.8 + 3},
		"draw 1": {drawn, 1, 0, 53, 2, 9, 53 + 2 + 2 + 9 + 3},
		"draw 2": {drawn, 2, 0, 31, 1, 5, 31 + 1 + 2 + 5 + 3},        // chunks 0 and 1 until 20 and their sum, 2 until 31; the other core draws until 12 and finds no chunk at 22
		"draw 5": {drawn, 5, 0, 10, 3. / 4, 3, 10 + .75 + 2 + 3 + 3}, // the core that draws until 12 does not help with the rest
		// The cores begin at 0, 0.5, 1 and 1.5. Three additions take four cores 3/4 + 0.75, and
		// three cores 3/3 + 0.5. An update of 8 takes four cores 2 + 0.75, five 1.6 + 1 and six
		// 4/3 + 1.25.
		"waking 4":  {waking, 4, 0, 11.5, 1.5, 2.75 + 1, 11.5 + 1.5 + 2 + 3.75 + 3},
		"waking 64": {waking, 64, 0, 11.5, 1.5, 8./6 + 1.25 + 1, 11.5 + 1.5 + 2 + 8./6 + 2.25 + 3},
	} {
		r := c.step.On(c.n, c.memory)
		if !near(r.Chunks, c.chunks) || !near(r.Sums, c.sums) || !near(r.Update, c.update) || !near(r.Seconds, c.seconds) {
			t.Errorf("%s: %+v, want %+v", name, r, c)
		}
	}
}

// TestWaitsForProblems draws problems for longer than the step takes.
func TestWaitsForProblems(t *testing.T) {
	s := Step{Draw: 100, Chunks: []float64{10, 10}}
	if r := s.On(3, 0); r.Seconds != 100 || r.Draw != 90 || !near(r.Speedup, 1.2) {
		t.Errorf("%+v", r)
	}
}

// TestBounds checks random steps against bounds. A step takes at least all work divided by the
// cores, and at least its longest chunk. The speed-up is at most n. Chunks end as early as a
// list schedule guarantees (Graham 1969). More memory bandwidth is never slower.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := Step{Add: Stream{r.Float64() / 4, 1e9 * r.Float64(), 1 + r.IntN(64)}, Norm: r.Float64() / 4, Rest: r.Float64() / 4, Draw: r.Float64() * float64(r.IntN(2))}
		work, longest := s.Draw+s.Norm+s.Rest, s.Draw
		for range 1 + r.IntN(40) {
			c := 0.1 + r.Float64()*r.Float64()*4
			s.Chunks = append(s.Chunks, c)
			work, longest = work+c, max(longest, c)
		}
		for range r.IntN(3) {
			s.Updates = append(s.Updates, Stream{r.Float64(), 1e9 * r.Float64(), 1 + r.IntN(200)})
			work += s.Updates[len(s.Updates)-1].Seconds
		}
		adds := float64(len(s.Chunks) - 1)
		work += adds * s.Add.Seconds
		one := s.On(1, 0)
		if !near(one.Seconds, work) || !near(one.Speedup, 1) || one.Idle > 1e-9 {
			t.Fatalf("%+v: one core takes %g, work is %g", s, one.Seconds, work)
		}
		for _, n := range []int{2, 3, 8, 32, 128} {
			got := s.On(n, 0)
			streams := got.Sums + got.Update + got.Norm + got.Rest
			all := s.Draw
			for _, c := range s.Chunks {
				all += c + s.Add.Seconds // each chunk is added at most once
			}
			// A core does up to one addition a level after a chunk, before it takes the next
			// one.
			piece := longest + s.Add.Seconds*math.Ceil(math.Log2(float64(len(s.Chunks)+1)))
			switch {
			case got.Seconds < work/float64(n)*(1-1e-9), got.Speedup > float64(n)*(1+1e-9), got.Seconds < longest*(1-1e-9):
				t.Fatalf("%+v on %d cores: %+v, work is %g", s, n, got, work)
			case got.Chunks > all/float64(n)+piece*(1-1/float64(n))+1e-9:
				t.Fatalf("%+v on %d cores: chunks take %g, of %g in pieces of %g", s, n, got.Chunks, all, piece)
			case !near(got.Chunks+streams+got.Draw, got.Seconds):
				t.Fatalf("parts of %+v", got)
			case got.Few < 0 || got.Last < 0 || got.Alone < 0 || got.Other < 0 || math.Abs(got.Few+got.Last+got.Alone+got.Other-got.Idle) > s.Draw/got.Seconds/float64(n)+1e-9:
				t.Fatalf("%d cores, idle for %+v", n, got)
			}
			slow, fast := s.On(n, 1e9), s.On(n, 1e10)
			if fast.Seconds < got.Seconds-1e-9 || slow.Seconds < fast.Seconds-1e-9 {
				t.Fatalf("memory: %g, %g, %g", got.Seconds, fast.Seconds, slow.Seconds)
			}
			s.Wake = 0.01
			if late := s.On(n, 0); late.Seconds < got.Seconds-s.Wake*float64(n)-longest {
				t.Fatalf("waking: %+v, %+v", late, got)
			}
			s.Wake = 0
		}
	}
}

func TestOthers(t *testing.T) {
	for _, c := range []struct {
		batch, chunk int
		cores, want  []int
	}{{128, 32, []int{1, 4, 8, 32, 128, 512}, []int{16, 4, 1}}, {64, 16, []int{4}, nil}, {50, 16, []int{100, 8}, []int{5, 1}}} {
		if got := Others(c.batch, c.chunk, c.cores); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestPlan simulates a step of four chunks, with constant work that is slow by chance once, and
// the same step in eight chunks.
func TestPlan(t *testing.T) {
	step := Step{Chunks: []float64{.1, .1, .1, .1}, Norm: .01, Updates: []Stream{{.01, 0, 9}}}
	odd := step
	odd.Norm, odd.Updates = 7, []Stream{{7, 0, 9}}
	p := Plan{Name: "toy", Device: "cpu, avx2, 2 threads", Processor: "X", Threads: 2, Batch: 64, Cores: []int{1, 2, 4, 16, 100}}
	p.Add(Cut{Chunk: 16, MicroBatch: 8, Chunks: 4, Measured: .22}, []Step{step, odd, step})
	step.Chunks = slices.Repeat([]float64{.06}, 8)
	p.Add(Cut{Chunk: 8, MicroBatch: 8, Chunks: 8, Measured: .25}, []Step{step})
	if c := p.Cuts[0]; !near(c.Here.Seconds, .215) || !near(c.Rows[2].Seconds, .1125) || c.Steps != 3 {
		t.Fatalf("%+v", p)
	}
	text := p.String()
	for _, want := range []string{
		"toy on more cores: simulated, from steps timed on cpu, avx2, 2 threads (X)\nstep  64 examples in 4 chunks of 16, so work for 4 cores at most; micro-batches of 8\n" +
			"here  220 ms measured (median of 3), 215 ms simulated with as many cores as threads;\n      problems of the next step are drawn beside it, in 0 ms\n",
		"\n    4   112       3.7     100     0    10     2.5     0   7 %  what one core does alone\n",
		"chunks are too few\n",
		"\ntrain.chunk  chunks  micro-batch  measured  on 1 core  on 2 cores  on 4 cores  on 16 cores  on 100 cores\n" +
			"         16       4            8       220        420         215         112          111           111\n" +
			"          8       8            8       250        500         255         132         71.1          71.1\n",
		"\n16 cores: 4 chunks are too few; train.chunk = 8 gives 8, and 71.1 ms a step instead of 111.\n",
		"a batch of 64 examples has work for 64 cores at most, so make train.batch larger.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\n4 cores:") {
		t.Errorf("advice for as many cores as chunks\n%s", text)
	}
}
