package insight

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/runtime/task"
)

// A Site is the attention of one layer. Values is [H][rows][keys]; a row sums to 1 if some
// key is open to it.
type Site struct {
	Name   string // encoder.0.self, decoder.1.cross, loop.0.self
	Run    int    // run of the loop, from 0
	Self   bool   // keys are the rows themselves
	Source bool   // rows are the problem's, as in an encoder
	Values [][][]float64
}

// An Attention is the attention of all layers for one problem, and the model's answer.
type Attention struct {
	Source, Target []string // the tokens as text; Source is empty for models that read one text
	Sites          []Site   // in the order of computation
	Answer         string   // the model's
}

// Attend lets the model answer a problem greedily, without dropout, and returns the
// attention of all rows up to the one that predicts the end. The loop runs times times; 0
// means as in training. It returns an error for a problem that the task cannot encode, or
// when ctx ends.
func (m *Model) Attend(ctx context.Context, problems *task.Task, p task.Problem, times int) (*Attention, error) {
	batch, err := problems.One(p)
	if err != nil {
		return nil, err
	}
	if times == 0 && problems.ByLength() {
		times = problems.Recurrences(p)
	}
	if times > 0 {
		of := *m
		of.times = times
		m = &of
	}
	first := max(problems.Prompt(p)-1, 0)
	r, reply, err := m.answer(ctx, batch, first, problems.EOS())
	if err != nil {
		return nil, err
	}
	rows := first + len(reply)
	a := &Attention{Sites: r.sites, Answer: problems.Decode(p, reply)}
	for _, s := range a.Sites {
		if !s.Source {
			s.cut(rows)
		}
	}
	for _, id := range batch.Source {
		a.Source = append(a.Source, problems.Symbol(id))
	}
	for _, id := range batch.Target[:rows] {
		a.Target = append(a.Target, problems.Symbol(id))
	}
	return a, nil
}

// answer writes the model's answer into the target rows after row first. It returns the run
// that read the answer, and the answer, which ends with the token end or at the last
// labelled row. A row depends only on earlier rows. So once every row predicts the next
// one, the run has read exactly what decoding one token at a time gives. Each earlier run
// settles at least one more row.
func (m *Model) answer(ctx context.Context, one task.Batch, first int, end int32) (r *runner, reply []int32, err error) {
	last := len(one.Labels) - 1
	for last > first && one.Labels[last] < 0 {
		last--
	}
	for range last - first + 1 {
		if r, err = m.read(ctx, one); err != nil {
			return nil, nil, err
		}
		reply, settled := []int32(nil), true
		for i := first; i <= last; i++ {
			says := int32(r.buffers[tensor{model.Pred, 0}].I[i])
			reply = append(reply, says)
			if i == last || settled && says == end {
				break
			}
			settled = settled && one.Target[i+1] == says
			one.Target[i+1] = says
		}
		if settled {
			return r, reply, nil
		}
	}
	return nil, nil, errors.New("BUG: a row depends on later rows")
}

// cut keeps the first rows of the target, and of the keys that are target rows.
func (s *Site) cut(rows int) {
	for h, values := range s.Values {
		s.Values[h] = values[:rows]
		for i := 0; i < rows && s.Self; i++ {
			values[i] = values[i][:rows]
		}
	}
}

// read runs the forward program on one example.
func (m *Model) read(ctx context.Context, one task.Batch) (*runner, error) {
	r := &runner{Model: m, ctx: ctx, buffers: map[tensor]ir.Tensor{},
		dims: map[string]int{"B": 1, "T": one.T, "S": one.S, "C": one.T, "P": 0}}
	for name, ids := range map[string][]int32{model.SourceTokens: one.Source, model.TargetTokens: one.Target, model.Labels: one.Labels} {
		t := ir.Tensor{Shape: []int{1, len(ids)}, I: make([]int64, len(ids))}
		for i, id := range ids {
			t.I[i] = int64(id)
		}
		r.buffers[tensor{name, 0}] = t
	}
	return r, r.run()
}

// watched returns a function with the weights of its attentions as additional results, and
// the names of these attentions.
func watched(f *ir.Func) (_ *ir.Func, names []string) {
	g := *f
	g.Values, g.Results = slices.Clone(f.Values), slices.Clone(f.Results)
	next := 0
	for _, v := range f.Values {
		next = max(next, v.ID+1)
	}
	for _, v := range f.Values {
		if v.Op != ir.Attention {
			continue
		}
		q, k := v.Args[0], v.Args[1]
		attn := *v.Attr.Attn
		shape := []ir.Dim{q.Type.Shape[0], ir.N(attn.Heads), q.Type.Shape[1], k.Type.Shape[1]}
		w := &ir.Value{ID: next, Op: ir.AttentionWeights, Type: ir.T(shape...), Pos: v.Pos,
			Args: slices.Concat([]*ir.Value{q, k}, v.Args[3:]), Attr: ir.Attr{Attn: &attn, Result: "weights"}}
		next++
		name := siteOf(v)
		g.Values = append(g.Values, w)
		g.Results = append(g.Results, ir.Result{Name: name + ".weights", Value: w})
		names = append(names, name)
	}
	return &g, names
}

// siteOf names an attention's place in its layer.
func siteOf(attention *ir.Value) string {
	if attention.Attr.Attn.Self {
		return "self"
	}
	return "cross"
}

// site returns the attention in iteration l of a group's layers.
func (r *runner) site(group, name string, l int, weights ir.Tensor) Site {
	s := Site{Self: name == "self", Source: group == "encoder"}
	layer := l
	if r.layers > 0 && group == "loop" {
		s.Run, layer = l/r.layers, l%r.layers
	}
	s.Name = fmt.Sprintf("%s.%d.%s", group, layer, name)
	heads, rows, keys := weights.Shape[1], weights.Shape[2], weights.Shape[3]
	for h := range heads {
		of := make([][]float64, rows)
		for i := range rows {
			of[i] = weights.F[(h*rows+i)*keys:][:keys]
		}
		s.Values = append(s.Values, of)
	}
	return s
}
