package prove

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxrun"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/remote"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/diff"
)

// Kernels is the result of the kernels of one spec.
type Kernels struct {
	Kernels  int     `json:"kernels"`            // number of kernels of the spec
	Same     int     `json:"same"`               // kernels compared with an earlier spec
	Compared int     `json:"compared"`           // compared here
	Elements int     `json:"elements"`           // elements of their results
	Inexact  int     `json:"inexact"`            // elements with other bits than the kernel interpreter's
	Worst    string  `json:"worst,omitempty"`    // the kernel farthest from float64
	Distance float64 `json:"distance,omitempty"` // distance of that kernel, relative to its tolerance
}

// lengths are the numbers of rows at which kernels are compared; slow devices use fewLengths.
var lengths, fewLengths = []int{1, 7, 33}, []int{1, 7}

// examples is the batch of a launch.
const examples = 2

func kernelParts(e *Env) ([]string, string) { return names(e.chosen()), "" }

// runKernels compares those kernels of one spec that no earlier spec has.
func runKernels(ctx context.Context, e *Env, p *Part) error {
	m, err := find(e.chosen(), p.Name)
	if err != nil {
		return err
	}
	program, err := m.compile()
	if err != nil {
		return err
	}
	k := &comparisons{Kernels: &Kernels{}, env: e, part: p}
	p.Kernels = k.Kernels
	var mine []string
	for _, t := range program.Trainings() {
		one, err := newTraining(t)
		if err != nil {
			return err
		}
		k.trainings = append(k.trainings, one)
		mine = slices.AppendSeq(mine, maps.Values(one.hashes))
	}
	if k.done, err = e.claim(ctx, mine); err != nil {
		return err
	}
	for _, t := range k.trainings {
		if err := k.training(ctx, t); err != nil {
			return err
		}
	}
	p.whole = true
	return nil
}

// comparisons is the state of a part.
type comparisons struct {
	*Kernels
	env       *Env
	part      *Part
	trainings []*training
	done      map[string]bool // hashes of kernels that others compare or that are compared here
}

// A training is a program of a spec, with the kernels to compare.
type training struct {
	*lower.Program
	cases  []*diff.Case
	hashes map[*diff.Case]string
}

func newTraining(p *compiler.Program) (*training, error) {
	cases, err := diff.Cases(p.Lowered)
	if err != nil {
		return nil, err
	}
	return &training{p.Lowered, cases, hashes(cases, codegen.ModuleOptions(p.Lowered))}, nil
}

// hashes returns a hash of each case. It covers the kernels, the reference that they are compared
// with, and how they are printed: the alignment of buffers, and the number of sets of buffers per
// launch.
func hashes(cases []*diff.Case, o ptx.Options) map[*diff.Case]string {
	all := map[*diff.Case]string{}
	for _, c := range cases {
		text := []byte(c.Text())
		for i, p := range c.Kernel.Params {
			if p.Mode != kernel.Scalar {
				text = strconv.AppendBool(text, o.Aligned(c.Kernel, i))
			}
		}
		if n := o.Sets(c.Kernel); n > 1 {
			text = strconv.AppendInt(text, int64(n), 10)
		}
		sum := sha256.Sum256(text)
		all[c] = hex.EncodeToString(sum[:8])
	}
	return all
}

func (k *comparisons) training(ctx context.Context, t *training) error {
	k.Kernels.Kernels += len(t.cases)
	var news []*diff.Case
	var kernels []*kernel.Kernel
	for _, c := range t.cases {
		if hash := t.hashes[c]; k.done[hash] {
			k.Same++
		} else {
			k.done[hash] = true
			news, kernels = append(news, c), append(kernels, c.Kernel)
		}
	}
	if len(news) == 0 {
		return nil
	}
	code, err := k.env.module(t.Program, kernels)
	if err != nil {
		return err
	}
	machine, err := ptxrun.New(k.env.Open, code)
	if err != nil {
		return err
	}
	for _, c := range news {
		c.Sums = machine.Sums(c.Kernel.Name)
	}
	err = k.compare(ctx, t, news, machine)
	if ctx.Err() != nil {
		return err // a comparison may still be running
	}
	return errors.Join(err, machine.Close())
}

// An outcome is the result of one kernel at all lengths.
type outcome struct {
	*diff.Case
	results []*diff.Result
	err     error
}

// compare compares kernels on all cores until the context ends.
func (k *comparisons) compare(ctx context.Context, t *training, cases []*diff.Case, machine *ptxrun.Machine) error {
	work, done := make(chan *diff.Case), make(chan outcome, len(cases))
	for range min(runtime.GOMAXPROCS(0), len(cases)) {
		go func() {
			for c := range work {
				done <- k.outcome(c, machine.Run)
			}
		}()
	}
	go func() {
		defer close(work)
		for _, c := range cases {
			select {
			case work <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range cases {
		select {
		case o := <-done:
			k.judge(o)
			if o.err == nil {
				if err := k.env.note(t.hashes[o.Case]); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			k.part.Reason = fmt.Sprintf("budget: %d of %d kernels were compared", k.Compared, k.Kernels.Kernels-k.Same)
			return context.Cause(ctx)
		}
	}
	return nil
}

// outcome compares one kernel at all lengths.
func (k *comparisons) outcome(c *diff.Case, run remote.Runner) outcome {
	o := outcome{Case: c}
	at := lengths
	if k.env.Reduced() {
		at = fewLengths
	}
	for _, l := range at {
		r, err := c.Compare(diff.Shape{Batch: examples, Length: l}, run)
		if err != nil {
			o.err = fmt.Errorf("at length %d: %w", l, err)
			return o
		}
		o.results = append(o.results, r)
	}
	return o
}

// judge counts an outcome and reports what is wrong with it.
func (k *comparisons) judge(o outcome) {
	k.Compared++
	if o.err != nil {
		k.part.wrong("%s: %s: %v", k.part.Name, o.Kernel.Name, o.err)
		return
	}
	for _, r := range o.results {
		k.Elements += r.Elements
		k.Inexact += r.Inexact
		if d := r.Abs / r.Tolerance; d > k.Distance && !math.IsInf(d, 0) {
			k.Distance, k.Worst = d, o.Kernel.Name
		}
		if r.Inexact == 0 && !r.Out() {
			continue
		}
		k.part.wrong("%s: %s at length %d: %d of %d elements have other bits; farthest off is %s%v: %v, want %v",
			k.part.Name, o.Kernel.Name, r.Shape.Length, r.Inexact, r.Elements, r.Buffer, r.Index, r.Got, r.Want)
		return // one length is enough
	}
}
