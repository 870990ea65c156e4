package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// calibration resolves a block calibrate. Its problems are those of the stage
// that it reads.
func (c *checker) calibration(name, from string, spec *Spec) *Calibration {
	if from == "" && c.settings["calibrate."+name+".from"] == nil {
		c.report("E0314", c.where("calibrate."+name), "%s has no attention to read", name).WithHelp("write from = and a stage")
	}
	c.checkWeights(name, from)
	read := spec.stage(from)
	if read != nil && read.Spec != nil {
		spec = read.Spec
	}
	k := &Calibration{
		Samples: int(c.stageRow(name, "samples").num),
		Extend:  int(c.stageRow(name, "extend").num),
		Mean:    c.stageRow(name, "reduce").is("mean"),
		Less:    c.stageRow(name, "subtract").is("largest"),
		Open:    c.stageRow(name, "empty").is("open"),
		Self:    c.lines(name, "self", spec),
		Cross:   c.lines(name, "cross", spec),
	}
	k.Logits = c.stageRow(name, "of").is("logits")
	k.Layer = int(c.stageRow(name, "layer").num)
	l := spec.extended(k.Extend)
	k.Self.Queries, k.Self.Keys = l.Target, l.Target
	k.Cross.Queries, k.Cross.Keys = l.Target, l.Source
	k.Cross.Paired = spec.Task.paired()
	if read != nil && read.Spec != nil {
		c.capture(name, k, spec)
	}
	c.results[name] = k
	return k
}

// capture records in the stage that is read which attention it must store. A model has
// only one program for that, so all calibrations read the same layer.
func (c *checker) capture(name string, k *Calibration, read *Spec) {
	m := &read.Model
	k.Heads = m.Heads
	if m.Loop != nil {
		c.limited(calibratedToday, c.where("calibrate."+name), "the calibration of a decoder-only model")
		return
	}
	layers := m.Decoder.Layers * max(m.Decoder.Times, 1)
	k.Layer = cmp.Or(k.Layer, layers)
	at := c.at("calibrate." + name + ".layer")
	switch {
	case k.Layer > layers:
		c.report("E0207", at, "%s reads layer %d of a decoder with %d", name, k.Layer, layers).WithHelp("write layer = last, or a number from 1 to %d", layers)
	case read.Capture == nil:
		read.Capture = &k.Capture
	case *read.Capture != k.Capture:
		c.limited(calibratedToday, at, "a second layer of one stage")
	}
}

// calibratedToday describes which stages can be calibrated.
var calibratedToday = limit{"E0450", "one layer of a stage whose model is an encoder and a decoder"}

// stage returns the stage of the given name, or nil.
func (s *Spec) stage(name string) *Stage {
	for n := range s.Stages {
		if s.Stages[n].Name == name {
			return &s.Stages[n]
		}
	}
	return nil
}

// lines resolves which lines of a site's attention become a bias.
func (c *checker) lines(stage, site string, spec *Spec) Lines {
	l := Lines{Rows: int(c.stageRow(stage, site+".rows").num)}
	if c.get("calibrate." + stage + "." + site + ".rows").is("auto") {
		_, l.Rows = spec.Task.digits()
	}
	for pair := range slices.Chunk(c.stageRow(stage, site+".direction").list, 2) {
		if step := [2]int{int(pair[0]), int(pair[1])}; !slices.Contains(l.Directions, step) {
			l.Directions = append(l.Directions, step)
		}
	}
	if keep := c.stageRow(stage, site+".keep").expr; keep != nil {
		s := &scope{checker: c, path: "calibrate." + stage + "." + site + ".keep", mask: true, vars: statistics}
		l.Keep, _ = s.boolean(keep)
	}
	return l
}

// statistics are the variables of a calibration's attribute keep.
var statistics = []string{"value", "mean", "std"}

// resultBias names the parameters of calibrated biases.
var resultBias = &definition{kind: "bias", name: "calibrated"}

// result translates the result of a calibration, NAME.self or NAME.cross. Each direction
// gives the value of the line through the cell. The result is the largest of them.
func (s *scope) result(e *dsl.Expr, stage, site string) *expr.Expr {
	k := s.results[stage]
	switch {
	case s.mask:
		s.report("E0209", e.Head, "%s is a bias, and %s is a mask", e.Text, s.path).WithHelp("a mask sees %s", s.indexHelp())
		return nil
	case k == nil:
		s.report("E0209", e.Head, "%s is no earlier calibration", stage).
			WithHelp("%s", diag.DidYouMean(stage, slices.Sorted(maps.Keys(s.results)), "set the bias in a stage after the calibration"))
		return nil
	case site != "self" && site != "cross":
		s.report("E0209", e.Head, "%s has no result %q", stage, site).WithHelp("write %s.self or %s.cross", stage, stage)
		return nil
	case k.Heads > 0 && k.Heads != s.heads():
		s.report("E0219", e.Head, "%s has biases for %d heads, but the model has %d", e.Text, k.Heads, s.heads()).
			WithHelp("calibrate a model with as many heads")
		return nil
	}
	in := s.uses.find(resultBias, stage)
	if in == nil {
		in = s.newInstance(resultBias, stage, nil)
	}
	l := &k.Self
	if site == "cross" {
		l = &k.Cross
	}
	var largest *expr.Expr
	for n, d := range l.Directions {
		x := s.line(in, fmt.Sprintf("%s%d", site, n), l, d, BiasParam{From: stage, Tensor: fmt.Sprintf("%s.line.%d.%d", site, d[0], d[1])})
		if largest == nil {
			largest = x
		} else {
			largest = expr.New(expr.Max, largest, x)
		}
	}
	return largest
}

// extended returns the size of problems with the given number of digits. Their answers
// have full width, even if the stage that is read has narrower ones.
func (s *Spec) extended(digits int) lengths {
	t := *s.Task.made().Config
	t.Pad = s.Eval.Pad
	t.Pad.Less = 0
	return tasks.Config{Config: &t}.SizeOf(digits, digits)
}
