// Package calibration is the pipeline stage that reads the attention of a trained model and
// writes biases: attention bias calibration. Package calibrate selects the lines. Generated
// code passes a Stage to package stages.
package calibration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/task"
)

const (
	captureTokens = 1 << 10 // source and target tokens of a launch
	captureRoom   = 1 << 24 // elements of attention in memory before they are summed
)

// A Stage says which attention is read and which of its lines are selected.
type Stage calibrate.Config

// File is the name of the file with the biases.
func (Stage) File() string { return calibrate.LinesFile }

// Reads describes the attention for people.
func (s Stage) Reads() string {
	return fmt.Sprintf("decoder layer %d, mean over %d problems", s.Layer, s.Samples)
}

// Calibrate reads the attention of a model and writes the calibration. It returns the selected
// lines for people.
func (s Stage) Calibrate(ctx context.Context, m eval.Model, at record.Calibrated) (kept string, err error) {
	config := calibrate.Config(s)
	self, cross, err := s.Attend(ctx, m)
	if err == nil {
		err = at.Begin()
	}
	if err != nil {
		return "", err
	}
	c := newRecord(at, &config)
	sites := c.sites(&config, self, cross)
	if err := c.calibrated(at, &config, sites); err != nil {
		return "", err
	}
	for _, site := range sites {
		kept += fmt.Sprintf("selected lines of %s attention:\n%s", site.name, *site.result)
	}
	return kept, nil
}

// A capture sums the attention of one decoder layer over problems.
type capture struct {
	eval.Model
	batch task.Batch
	sites [2]captured // self, cross
}

// captured is the attention of a site.
type captured struct {
	size  int       // elements for one example; 0: the site is not read
	each  []float32 // of the examples in memory, consecutive
	total []float64
}

// Attend averages the attention over the first training problems, all at the width of the
// widest. Sums follow the order of the problems.
func (c Stage) Attend(ctx context.Context, m eval.Model) (self, cross calibrate.Attention, err error) {
	sample := make([]task.Problem, c.Samples)
	for k := range sample {
		sample[k] = m.Task.Train(int64(k))
	}
	r := capture{Model: m}
	if r.batch, err = m.Task.Batch(sample); err != nil {
		return self, cross, err
	}
	t, s := r.batch.T, r.batch.S
	for i, x := range [...]struct {
		lines   calibrate.Lines
		columns int
	}{{c.Self, t}, {c.Cross, s}} {
		if len(x.lines.Directions) > 0 {
			r.sites[i] = captured{size: c.Heads * t * x.columns, total: make([]float64, c.Heads*t*x.columns)}
		}
	}
	if err := r.run(ctx); err != nil {
		return self, cross, err
	}
	for _, site := range r.sites {
		for e := range site.total {
			site.total[e] /= float64(c.Samples)
		}
	}
	return calibrate.Attention{Heads: c.Heads, Rows: t, Columns: t, Values: r.sites[0].total},
		calibrate.Attention{Heads: c.Heads, Rows: t, Columns: s, Values: r.sites[1].total}, nil
}

// run goes through the batch, in portions that fit in memory.
func (r *capture) run(ctx context.Context) error {
	launch := max(1, captureTokens/(r.batch.S+r.batch.T))
	room := launch * max(1, captureRoom/(launch*max(1, r.sites[0].size+r.sites[1].size)))
	for lo := 0; lo < r.batch.B; lo += room {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		hi := min(lo+room, r.batch.B)
		for i := range r.sites {
			r.sites[i].each = make([]float32, (hi-lo)*r.sites[i].size)
		}
		r.Machine.Each((hi-lo+launch-1)/launch, func(w device.Worker, n int) {
			first := lo + n*launch
			r.launch(w, r.batch.Slice(first, min(first+launch, hi)), first-lo)
		})
		if err := r.Machine.Err(); err != nil {
			return err
		}
		for i := range r.sites {
			r.sites[i].add()
		}
	}
	return nil
}

// launch computes the attention of some examples and stores it from example at on in each.
func (r *capture) launch(w device.Worker, part task.Batch, at int) {
	e := w.Env()
	*e = device.Env{B: part.B, T: part.T, S: part.S, C: part.T, Times: max(r.Runs, 1), Seed: r.Seed}
	lay := r.Plan.Attention.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	w.PutInts(lay.Source, part.Source)
	w.PutInts(lay.Target, part.Target)
	r.Plan.Attention.Run(w.Queue(), e)
	for i, from := range [...]device.Ref{lay.Self, lay.Cross} {
		if size := r.sites[i].size; size > 0 {
			w.GetFloats(r.sites[i].each[at*size:(at+part.B)*size], from)
		}
	}
}

func (s *captured) add() {
	for rest := s.each; len(rest) > 0; rest = rest[s.size:] {
		for e := range s.total {
			s.total[e] += float64(rest[e])
		}
	}
}

// A Record is the content of calibration.json.
type Record struct {
	Name     string            `json:"name"`
	SpecHash string            `json:"spec_hash"`
	Version  string            `json:"mlc_version"`
	Seed     uint64            `json:"seed"` // seed of the training whose attention was read
	InitSeed *uint64           `json:"init_seed,omitempty"`
	Stage    string            `json:"stage"`
	From     string            `json:"from"`
	Samples  int               `json:"samples"`
	Layer    int               `json:"layer"`              // decoder layer, from 1
	Of       string            `json:"of"`                 // weights, logits
	Reduce   string            `json:"reduce"`             // sum, mean
	Subtract string            `json:"subtract,omitempty"` // largest
	Self     *calibrate.Result `json:"self,omitempty"`
	Cross    *calibrate.Result `json:"cross,omitempty"`
}

func newRecord(at record.Calibrated, k *calibrate.Config) *Record {
	c := &Record{Name: at.Name, SpecHash: at.SpecHash, Version: at.Version, Seed: at.Seed, InitSeed: at.InitSeed, Stage: at.Stage, From: at.From,
		Samples: k.Samples, Layer: k.Layer, Of: "weights", Reduce: "sum"}
	if k.Logits {
		c.Of = "logits"
	}
	if k.Mean {
		c.Reduce = "mean"
	}
	if k.Less {
		c.Subtract = "largest"
	}
	return c
}

// A site is a place where a calibration reads attention.
type site struct {
	name   string
	lines  calibrate.Lines
	read   calibrate.Attention
	result **calibrate.Result
}

// sites returns the sites that a calibration reads.
func (c *Record) sites(k *calibrate.Config, self, cross calibrate.Attention) []site {
	all := []site{{"self", k.Self, self, &c.Self}, {"cross", k.Cross, cross, &c.Cross}}
	return slices.DeleteFunc(all, func(s site) bool { return len(s.lines.Directions) == 0 })
}

// calibrated calibrates each site and writes the results. It writes the attention and the
// statistics even if no line is selected. That is an error if a later stage uses the bias.
func (c *Record) calibrated(at record.Calibrated, k *calibrate.Config, sites []site) error {
	meta := map[string]string{"name": c.Name, "spec_hash": c.SpecHash, "mlc_version": c.Version, "seed": strconv.FormatUint(c.Seed, 10), "stage": c.Stage, "from": c.From,
		"samples": strconv.Itoa(c.Samples), "layer": strconv.Itoa(c.Layer), "of": c.Of}
	if c.InitSeed != nil {
		meta["init_seed"] = strconv.FormatUint(*c.InitSeed, 10)
	}
	read, lines := ckpt.File{Meta: meta}, ckpt.File{Meta: meta}
	for _, s := range sites {
		values := make([]float32, len(s.read.Values))
		for e, x := range s.read.Values {
			values[e] = float32(x)
		}
		read.Tensors = append(read.Tensors, ckpt.Tensor{Name: s.name, Shape: []int{s.read.Heads, s.read.Rows, s.read.Columns}, Data: values})
	}
	if err := ckpt.Write(filepath.Join(at.Dir, calibrate.AttentionFile), read); err != nil {
		return err
	}
	for _, s := range sites {
		r, err := k.Calibrate(s.lines, s.read)
		if err != nil {
			return fmt.Errorf("%s attention: %w", s.name, err)
		}
		*s.result = r
		heads := s.read.Heads
		lines.Tensors = append(lines.Tensors, ckpt.Tensor{Name: s.name, Shape: []int{heads, s.lines.M, s.lines.N}, Data: r.Matrix()})
		for _, t := range r.Tables() {
			lines.Tensors = append(lines.Tensors,
				ckpt.Tensor{Name: calibrate.Tensor(s.name, t.Direction), Shape: []int{heads, len(t.Values) / heads}, Data: t.Values})
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := ckpt.WriteFile(filepath.Join(at.Dir, calibrate.RecordFile), damage.SealIndented(text)); err != nil {
		return err
	}
	for _, s := range sites {
		if r := *s.result; !r.Kept() && !k.Open && at.Uses(s.name) {
			return fmt.Errorf("no line of %s attention stands out in any head, so no bias can be calibrated. The strongest lines are\n%s"+
				"train %s until it solves its problems, lower %s.keep in stage %s, or go on without a bias by empty = open (all lines are in %s)",
				s.name, r.Strongest(), c.From, s.name, c.Stage, filepath.Join(at.Dir, calibrate.RecordFile))
		}
	}
	return ckpt.Write(filepath.Join(at.Dir, calibrate.LinesFile), lines)
}
