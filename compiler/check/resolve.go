package check

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// Options describe a spec to check.
type Options struct {
	Path string                            // of the spec, with forward slashes
	Read func(path string) ([]byte, error) // returns the text of the spec and of files that it names
	Set  []string                          // "path=value", applied last
	Name string                            // of the spec; "": the file's base name without extension

	Include func(path string) error // returns an error if a file may not be included; nil: all files may
}

// Resolve reads a spec and everything it includes, and checks it. The spec is nil if the
// list has errors. Warnings may accompany a spec. A sweep resolves to its first training,
// but all of them are checked.
func Resolve(opts Options) (*Spec, diag.List) {
	c := newChecker(opts)
	spec := c.resolveFirst()
	return spec, c.complete(c.list)
}

// A Training is a point of a sweep with its spec. The point of a spec without a sweep has
// no name.
type Training struct {
	Point Point
	Spec  *Spec
}

// ResolveAll resolves all trainings of a sweep, in the order of Points. It returns none
// if the list has errors.
func ResolveAll(opts Options) ([]Training, diag.List) {
	c := newChecker(opts)
	var out []Training
	for _, t := range c.resolve() {
		out = append(out, Training{t.Point, c.finish(t)})
	}
	return out, c.complete(c.list)
}

// A checker turns settings into a spec. Its variants share the sources, but have their
// own settings and findings.
type checker struct {
	*sources
	*merged
	*found
	earlier []string                // stages before this one
	results map[string]*Calibration // of stages that calibrate
	stageOf map[string]*checker     // of stages that train
	rounds  *value                  // of this stage; nil: it has none
	like    *before                 // the previous training; nil for the first
	first   *merged                 // the settings of the first training
}

// sources is where settings come from, shared by all trainings.
type sources struct {
	lang     *language
	main     string // the file of the spec
	name     string // of the spec
	read     func(string) ([]byte, error)
	refuse   func(string) error // Options.Include
	sets     []string
	pinned   []string            // paths that sets change
	included map[string]diag.Pos // file -> where it was included
	loads    int
	unparsed bool // a source did not parse, so further findings would be guesses
	written  written
	bases    map[string]*merged    // settings that sweep cases include, by path of the case
	closed   map[string]*query     // answers of closedQuery
	stray    map[string]*strayCell // answers of strayCell
	hidden   map[string]string     // results of view.search …
	looked   int                   // … and the number of cells that they examined
	inUse    map[diag.Range]bool   // masks, biases and parameters that a training uses
	files    map[string]*Problems  // by path, separator and tokens
	odd      map[*Problems]oddities
	total    int // nodes of expressions in all trainings
}

// found holds the results for one set of settings.
type found struct {
	list     diag.List
	limits   diag.List
	kind     string
	values   map[string]*value
	problems *Problems // of the task's file, or nil
	tests    *Problems // of the task's test file, or nil
	expressions
}

// expressions holds the results for definitions and sites.
type expressions struct {
	definitions map[string]*definition
	defined     []*definition // in order
	uses        *uses
	used        map[*definition]bool
	open        map[*definition]bool // in translation
	sites       map[string]*Site
	facts       map[*expr.Expr]fact
	constants   map[*expr.Expr]*expr.Expr // results of constantOf
	nodes       int                       // of expressions translated so far
}

func newFound() *found {
	return &found{values: make(map[string]*value), expressions: expressions{
		definitions: make(map[string]*definition),
		uses:        newUses(),
		used:        make(map[*definition]bool),
		open:        make(map[*definition]bool),
		sites:       make(map[string]*Site),
		facts:       make(map[*expr.Expr]fact),
		constants:   make(map[*expr.Expr]*expr.Expr),
	}}
}

func newChecker(opts Options) *checker {
	name := opts.Name
	if name == "" {
		name = strings.TrimSuffix(path.Base(path.Clean(opts.Path)), path.Ext(opts.Path))
	}
	return &checker{
		sources: &sources{lang: newLanguage(), main: path.Clean(opts.Path), name: name, read: opts.Read, refuse: opts.Include, sets: opts.Set,
			included: make(map[string]diag.Pos), bases: make(map[string]*merged), closed: make(map[string]*query), stray: make(map[string]*strayCell), hidden: make(map[string]string), inUse: make(map[diag.Range]bool), files: make(map[string]*Problems), odd: make(map[*Problems]oddities)},
		merged:  newMerged(),
		found:   newFound(),
		results: make(map[string]*Calibration),
	}
}

// merge reads all sources.
func (c *checker) merge() {
	c.load(c.main, nil, diag.Range{Start: diag.Pos{File: c.main}})
	c.override()
}

// resolve checks all trainings. It returns none if there are errors.
func (c *checker) resolve() []trained {
	c.merge()
	if c.alone() {
		c.refuseAlone()
		return nil
	}
	if c.unparsed { // a missing part may be in the text that did not parse
		c.fold()
		c.resolveValues()
		return nil
	}
	points := c.points()
	if c.unparsed { // in a file that a case includes
		return nil
	}
	if len(points) == 0 {
		points = []point{{own: c.merged}}
	}
	var last *checker
	var all []trained
	seen := make(map[finding]bool)
	for n, p := range points {
		said := p.merged()
		v := c.variant(said)
		v.like = last.before(v.merged)
		all = append(all, trained{p, said, v, v.resolveOne()})
		if n == 0 {
			p.Name = ""
		}
		c.addPoint(p.Name, v.list, seen)
		last = v
	}
	c.list = slices.DeleteFunc(c.list, func(d *diag.Diagnostic) bool { // a definition that one training uses is not useless
		return (d.Code == "V003" || d.Code == "V017") && c.inUse[d.Range]
	})
	c.vetSweep(all)
	first := all[0].checker
	c.first, c.values, c.definitions, c.defined = first.merged, first.values, first.definitions, first.defined
	if c.list.HasErrors() {
		return nil
	}
	c.limits = c.complete(c.limits)
	return all
}

// resolveFirst returns the spec of the first training, or nil if there are errors.
func (c *checker) resolveFirst() *Spec {
	if all := c.resolve(); len(all) > 0 {
		return c.finish(all[0])
	}
	return nil
}

// finish adds the parts of a spec that come from its settings as a whole.
func (c *checker) finish(t trained) *Spec {
	spec := t.built
	spec.limits = append(c.complete(t.limits), c.limits...).Sort()
	spec.places = t.spans()
	spec.Axes = slices.Sorted(maps.Keys(t.Axes))
	spec.Resolved = t.print()
	spec.Carried, spec.carried = t.printCarried()
	spec.Hash = t.hash(spec.Carried)
	for _, stage := range spec.Stages {
		if stage.Spec != nil { // a stage alone does not resolve: it uses results of others
			stage.Spec.Resolved, stage.Spec.Hash, stage.Spec.Carried, stage.Spec.carried = spec.Resolved, spec.Hash, spec.Carried, spec.carried
		}
	}
	return spec
}

// A finding identifies equal diagnostics of different trainings.
type finding struct {
	code string
	at   diag.Range
}

// addPoint adds the findings of one training of a sweep. Later trainings, which have a
// name, only add new ones.
func (c *checker) addPoint(name string, list diag.List, seen map[finding]bool) {
	for _, d := range list {
		f := finding{d.Code, d.Range}
		if name != "" && seen[f] {
			continue
		}
		seen[f] = true
		if name != "" {
			d.WithNote(diag.Pos{}, "in the training %s", name)
		}
		c.list = append(c.list, d)
	}
}

// resolveOne resolves one training with its stages, and vets it.
func (c *checker) resolveOne() *Spec {
	spec := c.build(c.name)
	c.buildStages(spec)
	if !c.list.HasErrors() {
		c.vetAll(spec)
	}
	return spec
}

// build makes the spec of the settings, without stages.
func (c *checker) build(name string) *Spec {
	c.checkKind()
	c.fold()
	c.checkLoop()
	c.resolveValues()
	if c.like.keepsExpressions(c) {
		c.expressions = c.like.expressions
	} else {
		c.collect()
	}
	spec := c.assemble(name)
	if !c.list.HasErrors() {
		c.countEpochs(spec)
		c.checkRules(spec)
	}
	return spec
}

// spans returns the place of each attribute and block.
func (c *checker) spans() map[string]diag.Range {
	out := maps.Clone(c.places)
	for path, s := range c.settings {
		out[path] = s.value.Range
	}
	return out
}

// report adds a diagnostic and returns it for help and notes.
func (c *checker) report(code string, r diag.Range, format string, args ...any) *diag.Diagnostic {
	d := diag.New(code, r, format, args...)
	c.list = append(c.list, d)
	return d
}

// A limit is the code of a finding about what parses but is not compiled yet, and what works today.
type limit struct{ code, today string }

// limited records a construct that is not compiled yet, for Lowerable.
func (c *checker) limited(l limit, r diag.Range, format string, args ...any) {
	d := diag.New(l.code, r, "%s is not compiled yet", fmt.Sprintf(format, args...)).WithHelp("today: %s", l.today)
	c.limits = append(c.limits, d)
}

// complete sorts diagnostics and adds notes on how their file was included.
func (c *checker) complete(list diag.List) diag.List {
	for _, d := range list {
		file := d.Range.Start.File
		if file == setFile && d.Range.Start.Line > 0 {
			d.Source = c.sets[d.Range.Start.Line-1]
		}
		for at, ok := c.included[file]; ok; at, ok = c.included[at.File] {
			d.WithNote(at, "included")
		}
	}
	return list.Sort()
}
