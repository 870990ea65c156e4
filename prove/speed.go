package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/prove/beside"
	"github.com/arithlang/mlc/prove/fragment"
	"github.com/arithlang/mlc/prove/probe"
)

// A task is a part of a phase whose parts differ.
type task struct {
	name     string
	needs    float64 // seconds that it needs on a GPU
	computes bool    // a device that only counts cannot run it
	run      func(ctx context.Context, e *Env, p *Part) error
}

func (t task) String() string { return t.name }

// tasks makes a phase of tasks with so many seconds of SpeedBudget.
func tasks(name, doc string, seconds float64, all ...task) phase {
	return listed(name, doc, seconds, func() []task { return all })
}

// listed makes a phase of tasks that are listed when they are needed.
func listed(name, doc string, seconds float64, all func() []task) phase {
	return phase{
		name: name, doc: doc, share: seconds,
		parts: func(*Env) ([]string, string) { return names(all()), "" },
		run: func(ctx context.Context, e *Env, p *Part) error {
			t, err := find(all(), p.Name)
			if err != nil {
				return err
			}
			if t.computes && e.counts() {
				return skipf("the device computes nothing, it only counts")
			}
			return t.run(ctx, e, p)
		},
		needs: func(part string) time.Duration {
			t, err := find(all(), part)
			if err != nil {
				return leastPart
			}
			return scale(time.Second, t.needs)
		},
	}
}

// Budget and SpeedBudget are enough time for most proofs, and for the measurements of Speed.
const (
	Budget      = 540 * time.Second
	SpeedBudget = 450 * time.Second
)

// speeds is the table of measurements, the most telling first, since time may end at any row.
// Before the first measurement, all cores compile what PyTorch and the driver will need.
func speeds() []phase {
	fill := listed("fill", "what PyTorch and the driver compile, in parallel; copies of boxes, each in its own process", 60, sync.OnceValue(fillTasks))
	fill.abreast = true
	return []phase{
		tasks("card", "card, driver, clocks; PyTorch; what PyTorch compiled in an earlier run", 14,
			task{name: thisDevice, needs: 3, run: runMachine}, task{name: torch, needs: 8, run: runPeers},
			task{name: "unpack", needs: 1, run: unpackCaches}),
		fill,
		tasks("pack", "what PyTorch has compiled, for a later run", 8, task{name: "pack", needs: 1, run: packCaches}),
		tasks("looped8x2", "steps of looped8x2 in bf16 alternating with compiled PyTorch", 60, contestTasks("looped8x2-bf16 compile bf16")...),
		tasks("packed", "the same alternating with PyTorch on rows without padding; PyTorch's attention alone", 30,
			append(contestTasks("looped8x2-bf16 packed bf16"), ratesTask("attention"))...),
		tasks("bench", "steps and kernels of looped8x2", 60, raceTasks(unused, loopedRaces())...),
		tasks("library", "the same with products by cuBLASLt", 25, raceTasks(instead, loopedRaces())...),
		tasks("abs-kernels", "kernels of addition_abs", 45, raceTasks(unused, absRaces())...),
		tasks("abs", "steps of addition_abs alternating with compiled PyTorch", 60, contestTasks("abs compile tf32", "abs-bf16 compile bf16")...),
		tasks("cudagraph", "small steps alternating with PyTorch captured as a CUDA graph", 30, contestTasks("successor cudagraph tf32", "looped cudagraph tf32")...),
		tasks("peaks", "the peak of wgmma; products by cuBLAS, called from PyTorch", 20, probeTask("wgmma-bf16"), ratesTask("matmul")),
		tasks("ncu", "what kernels of looped8x2 wait for, by Nsight Compute", 35, toolTasks(loopedTools())...),
		tasks("bias", "attention with a learned bias by PyTorch: FlexAttention and others", 20, ratesTask("bias")),
		tasks("rest", "steps alternating with PyTorch in its other ways", 24, contestTasks("looped8x2-bf16 eager bf16", "looped8x2-bf16 cudagraph bf16",
			"successor compile tf32", "looped compile tf32", "abs cudagraph tf32", "abs-bf16 cudagraph bf16",
			"successor eager tf32", "looped eager tf32", "abs eager tf32", "abs-bf16 eager bf16")...),
	}
}

// SpeedPhase returns the index of the phase of speeds that has a part, or their number if none
// has.
func SpeedPhase(part string) int {
	in := func(p phase) bool { parts, _ := p.parts(nil); return slices.Contains(parts, part) }
	if i := slices.IndexFunc(speeds(), in); i >= 0 {
		return i
	}
	return len(speeds())
}

// contest finds a contest by its name.
func contest(name string) beside.Contest {
	c, err := find(beside.Contests("cuda", runtime.NumCPU()), name)
	if err != nil {
		panic(err)
	}
	return c
}

// contestTasks let steps of mlc and PyTorch alternate.
func contestTasks(names ...string) (all []task) {
	for _, name := range names {
		c := contest(name)
		all = append(all, task{name: name, needs: 12, run: func(ctx context.Context, e *Env, p *Part) error {
			if err := e.compete(ctx, p, c); err != nil {
				return err
			}
			if p.Peer.Failed != "" {
				return fmt.Errorf("PyTorch gave up: %s", p.Peer.Failed)
			}
			return nil
		}})
	}
	return all
}

// fillTasks compile what PyTorch's ways need, then the driver's kernels, longest first. Copies of
// boxes, which may crash a device, run meanwhile.
func fillTasks() (all []task) {
	for _, name := range []string{"looped8x2-bf16 compile bf16", "looped8x2-bf16 packed bf16", "abs compile tf32", "abs-bf16 compile bf16",
		"successor cudagraph tf32", "looped cudagraph tf32"} {
		c := contest(name)
		all = append(all, task{name: name, needs: 10, run: func(ctx context.Context, e *Env, p *Part) error { return e.fill(ctx, p, c) }})
	}
	all = append(all, task{name: "rates bias", needs: 10, run: func(ctx context.Context, e *Env, p *Part) error {
		_, err := e.rates(ctx, "bias")
		return err
	}})
	for _, group := range fragment.Groups() {
		if strings.HasPrefix(group, "box ") {
			all = append(all, task{name: group, needs: 2, computes: true, run: runFragments})
		}
	}
	for _, r := range slices.Concat(loopedRaces(), absRaces()) {
		all = append(all, loadTask(r.title, r.program))
	}
	for _, name := range []string{"looped8x2-bf16", "successor", "looped"} {
		c := contest(name + " eager bf16").Case
		all = append(all, loadTask("steps of "+name, func(e *Env) (*live.Model, error) { return beside.Model(c, e.fewer(c)) }))
	}
	return all
}

// loadTask lets the driver compile a model's kernels and cache them.
func loadTask(name string, model func(e *Env) (*live.Model, error)) task {
	return task{name: "load " + name, needs: 4, run: func(ctx context.Context, e *Env, p *Part) error {
		m, err := model(e)
		if err != nil {
			return err
		}
		d, err := e.Open()
		if err != nil {
			return err
		}
		start := time.Now()
		module, err := d.Load(m.GPU.PTX)
		if err != nil {
			return errors.Join(err, d.Close())
		}
		p.Module = &Module{Kernels: len(m.GPU.Kernels), Bytes: len(m.GPU.PTX), Load: time.Since(start).Seconds()}
		return errors.Join(module.Unload(), d.Close())
	}}
}

// loopedRaces are steps of looped8x2: as at the start of its training, and with one chunk a step.
func loopedRaces() (all []race) {
	chunk := []string{"train.batch=512", "train.chunk=512"}
	for _, r := range []race{
		{title: "bf16 256", model: model{"looped8x2", narrow}, batch: 256},
		{title: "bf16 512 in one chunk", model: model{"looped8x2", slices.Concat(narrow, chunk)}},
		{title: "f32 512 in one chunk", model: model{"looped8x2", chunk}},
		{title: "tf32x3 512 in one chunk", model: model{"looped8x2", slices.Concat(split, chunk)}},
	} {
		r.title, r.fewer = "looped8x2 "+r.title, fewerLoops
		all = append(all, r)
	}
	return all
}

// absRaces are the kernels of addition_abs in each precision, at the paper's sizes.
func absRaces() (all []race) {
	c := contest("abs eager fp32").Case
	for _, precision := range [][]string{nil, split, narrow} {
		title := "f32"
		if precision != nil {
			_, title, _ = strings.Cut(precision[0], "=")
		}
		all = append(all, race{title: "addition_abs " + title, model: model{"bias/addition_abs", slices.Concat(c.Set, precision)}, fewer: fewerLayers})
	}
	return all
}

func raceTasks(library use, races []race) (all []task) {
	for _, r := range races {
		if r.library = library; library == instead {
			r.title += " by cuBLASLt"
		}
		all = append(all, task{name: r.title, needs: 5, run: func(ctx context.Context, e *Env, p *Part) error { return e.race(ctx, p, r) }})
	}
	return all
}

func probeTask(name string) task {
	return task{name: name, needs: 2, computes: true, run: runProbe}
}

func toolTasks(tools []tool) (all []task) {
	for _, t := range tools {
		all = append(all, task{name: t.name, needs: t.needs.Seconds(), run: func(ctx context.Context, e *Env, p *Part) error {
			if e.Device != "cuda" {
				return skipf("NVIDIA's tools watch a GPU")
			}
			return e.watch(ctx, p, t)
		}})
	}
	return all
}

// ratesTask measures operations of PyTorch outside a model.
func ratesTask(subject string) task {
	return task{name: "rates " + subject, needs: 10, run: func(ctx context.Context, e *Env, p *Part) error {
		rows, err := e.rates(ctx, subject)
		for _, r := range rows {
			if r.Wrong != "" {
				p.wrong("%s: %s", r.Name, r.Wrong)
			}
			if e.Device != "cuda" {
				r.Value, r.Spread = 0, 0
			}
			p.Figures = append(p.Figures, r.Figure)
		}
		return err
	}}
}

// A rate is a line of the output of the rates script.
type rate struct {
	probe.Figure
	Wrong string `json:"wrong"` // how its result differs from the reference
}

// rates runs the script on one subject. With an error, it returns the rows before it.
func (e *Env) rates(ctx context.Context, subject string) ([]rate, error) {
	t, err := e.torch(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mlc-rates-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := peers.Write(dir); err != nil {
		return nil, err
	}
	args := []string{"-B", filepath.Join(dir, "rates_torch.py"), subject, "--device", e.torchDevice()}
	env := append(os.Environ(), beside.Caching(e.cacheDir())...)
	if e.Reduced() {
		args, env = append(args, "--reduced"), append(env, "OMP_NUM_THREADS=1")
	}
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, t.Python, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &out, &complaint, time.Second
	failed := cmd.Run()
	var rows []rate
	for lines := json.NewDecoder(&out); ; {
		var r rate
		if err = lines.Decode(&r); err != nil {
			break
		}
		rows = append(rows, r)
	}
	switch {
	case ctx.Err() != nil:
		return rows, context.Cause(ctx)
	case failed != nil:
		return rows, fmt.Errorf("%w: %s", failed, rounds.LastLines(complaint.String(), 1))
	case err != io.EOF:
		return rows, fmt.Errorf("PyTorch's rates of %s end with an invalid row: %w", subject, err)
	case rows == nil:
		return nil, fmt.Errorf("PyTorch printed no rates of %s", subject)
	}
	return rows, nil
}
