package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// merged holds the settings of all sources.
type merged struct {
	settings map[string]*setting     // by path; paths in stages and sweeps begin with the block's path
	order    []string                // paths in the order of their first setting
	argued   []string                // the paths in order that are arguments
	labels   map[string]*dsl.Ident   // kind of the task
	places   map[string]diag.Range   // where a block was last written, or first entered by a path
	axes     []string                // of the sweep: paths, or names of axes with cases
	cases    []string                // sweep.AXIS.CASE in the order in which they were first written
	includes map[string][]*dsl.Entry // by the path of a case
	stages   []string                // names of stages and calibrations in the order in which they were first written
	inside   map[string][]string     // attributes and blocks of a stage or sweep case, by its path
	blocks   map[string]bool         // paths of masks, biases and tables that are written as blocks
}

// A setting is the last value of an attribute, or of an argument.
type setting struct {
	name  diag.Range
	value *dsl.Expr
	args  []dsl.Ident // for an argument: the names after the attribute's path
}

func newMerged() *merged {
	return &merged{
		settings: make(map[string]*setting),
		labels:   make(map[string]*dsl.Ident),
		places:   make(map[string]diag.Range),
		inside:   make(map[string][]string),
		includes: make(map[string][]*dsl.Entry),
		blocks:   make(map[string]bool),
	}
}

// set gives an attribute or argument its value. Arguments that were set on the previous
// value are dropped.
func (m *merged) set(path string, s *setting) {
	for _, p := range m.within(path) {
		m.forget(p)
	}
	m.put(path, s)
}

// within lists the arguments that are set on the value at a path.
func (m *merged) within(path string) []string {
	var out []string
	for _, p := range m.argued {
		if s := m.settings[p]; s != nil && len(s.args) > 0 && strings.HasPrefix(p, path+".") && len(s.attribute(p)) <= len(path) {
			out = append(out, p)
		}
	}
	return out
}

func (m *merged) forget(path string) {
	delete(m.settings, path)
	m.argued = slices.DeleteFunc(m.argued, func(p string) bool { return p == path })
	m.order = slices.DeleteFunc(m.order, func(p string) bool { return p == path })
}

func (m *merged) put(path string, s *setting) {
	if m.settings[path] == nil {
		m.order = append(m.order, path)
	}
	if len(s.args) > 0 {
		addNew(&m.argued, path)
	}
	m.settings[path] = s
}

func addNew(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// A merger adds one body to the settings.
type merger struct {
	*checker
	seen map[string]diag.Range // the paths that this body has set
}

func (m *merger) entries(block string, entries []*dsl.Entry) {
	for _, e := range entries {
		switch {
		case e.Include != nil && m.lang.isCase(block):
			m.includes[block] = append(m.includes[block], e) // read when the case is resolved
			continue
		case e.Include != nil:
			m.report("E0109", e.Range, "an include belongs at the top of a file, or of a case of a sweep").WithHelp("move it out of the braces")
			continue
		}
		names, args := e.Path, []dsl.Ident(nil)
		if e.Value != nil {
			names, args = m.lang.split(block, e.Path)
		}
		parent, ok := m.enter(block, names[:len(names)-1])
		if !ok {
			continue
		}
		switch last := names[len(names)-1]; {
		case e.Block != nil:
			m.block(parent, last, e.Block, e.Range)
		case len(args) > 0:
			m.argument(join(parent, last.Name), args, e.Value)
		default:
			m.attr(parent, last, e.Value)
		}
	}
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// enter follows the leading names of a dotted path into blocks.
func (m *merger) enter(block string, names []dsl.Ident) (string, bool) {
	for _, id := range names {
		if !m.lang.naming(block, id.Name) && !m.known(block, id) {
			return "", false
		}
		block = join(block, id.Name)
		m.visit(block)
		if _, ok := m.places[block]; !ok {
			m.mark(block, id.Range)
		}
	}
	return block, true
}

// mark records where a block is written.
func (m *merger) mark(path string, r diag.Range) {
	m.places[path] = r
	if in, meaning := m.lang.overlay(path); in != "" && meaning != "" {
		m.inside[in] = append(m.inside[in], meaning)
	}
}

// visit records the order of stages and calibrations, and of sweep cases.
func (m *merger) visit(block string) {
	in, meaning := m.lang.overlay(block)
	parts := strings.Split(in, ".")
	switch {
	case meaning != "" || len(parts) < 2:
	case parts[0] == "stage", parts[0] == "calibrate":
		addNew(&m.stages, parts[1])
	case len(parts) == 3:
		addNew(&m.axes, parts[1])
		addNew(&m.cases, in)
	}
}

// known reports whether a block may be entered, and adds a finding if not.
func (m *merger) known(parent string, id dsl.Ident) bool {
	path := join(parent, id.Name)
	switch {
	case m.lang.block(path) != nil:
		return true
	case m.lang.row(path) != nil:
		m.report("E0213", id.Range, "%s is an attribute, not a block", path).WithHelp("write %s = value", id.Name)
	case strings.HasPrefix(path, "calibrate.") && m.lang.blocks[id.Name] != nil && overridable(id.Name):
		m.report("E0201", id.Range, "%s has no block %q", parent, id.Name).WithHelp("a calibration trains nothing: set %s in a stage", id.Name)
	case m.lang.renamed(path) != "":
		m.report("E0201", id.Range, "%s has no block %q", parent, id.Name).WithHelp("%s", m.lang.renamed(path))
	case parent == "":
		m.report("E0201", id.Range, "unknown block %q", id.Name).WithHelp("%s", diag.DidYouMean(id.Name, m.lang.names(""), "blocks are"))
	case m.lang.defines(parent):
		m.report("E0201", id.Range, "%s has no blocks", parent).WithHelp("write %s = value", id.Name)
	default:
		m.report("E0201", id.Range, "%s has no block %q", parent, id.Name).
			WithHelp("%s", diag.DidYouMean(id.Name, m.lang.names(parent), "it has"))
	}
	return false
}

func (m *merger) block(parent string, id dsl.Ident, b *dsl.Block, whole diag.Range) {
	path := join(parent, id.Name)
	named := m.lang.naming(parent, id.Name)
	if !named && !m.known(parent, id) {
		return
	}
	row := m.lang.block(path)
	switch {
	case parent == "sweep" && named && b.Label == nil:
		m.report("E0211", id.Range, "a case of the axis %s needs a name", id.Name).WithHelp("write %s NAME { … }", id.Name)
		return
	case parent == "sweep" && named, row != nil && row.Label == dsl.NameLabel && b.Label != nil:
		path, id = join(path, b.Label.Name), *b.Label
	case named:
		if b.Label != nil && b.Label.Name != id.Name {
			m.report("E0211", b.Label.Range, "%s has its name already", path).WithHelp("write %s { … }", path)
		}
	case row.Label == dsl.NameLabel:
		m.report("E0211", id.Range, "a %s needs a name", path).WithHelp("write %s NAME { … }", id.Name)
		return
	case row.Label == dsl.NoLabel && b.Label != nil:
		m.report("E0211", b.Label.Range, "%s takes no name", path).WithHelp("write %s { … }", id.Name)
	case b.Label != nil:
		m.label(path, b.Label)
	}
	m.visit(path)
	m.mark(path, id.Range)
	m.written.block(path, id.Range, whole)
	if m.lang.defines(path) {
		m.blocks[path] = true
	}
	m.entries(path, b.Entries)
}

// label sets the kind of the task.
func (m *merger) label(path string, label *dsl.Ident) {
	if in, _ := m.lang.overlay(path); in != "" {
		m.report("E0211", label.Range, "%s keeps its name", path).WithHelp("write the block without %s", label.Name)
		return
	}
	if old, ok := m.seen[path+" label"]; ok {
		m.twice(label.Range, old, "the kind of "+path)
	}
	m.seen[path+" label"] = label.Range
	m.labels[path] = label
}

func (m *merger) twice(r, old diag.Range, what string) {
	m.report("E0204", r, "%s is set twice", what).WithHelp("first set at %d:%d", old.Start.Line, old.Start.Col)
}

func (m *merger) attr(parent string, id dsl.Ident, e *dsl.Expr) {
	path := join(parent, id.Name)
	row := m.lang.row(path)
	switch {
	case m.lang.defines(parent), row != nil:
	case parent == "sweep" && m.lang.naming(parent, id.Name):
		if !slices.Contains(m.axes, id.Name) {
			m.report("E0201", id.Range, "the sweep has no axis %q", id.Name).WithHelp("%s", cmp.Or(m.lang.hintFor(parent, id.Name), "write the full path of an attribute, as in train.seed = 1..3"))
			return
		}
	case m.lang.block(path) != nil:
		m.report("E0213", id.Range, "%s is a block", path).WithHelp("write %s { … }", id.Name)
		return
	case parent == "":
		m.report("E0201", id.Range, "unknown block %q", id.Name).WithHelp("%s", m.elsewhere("", id.Name, "blocks are"))
		return
	default:
		m.report("E0202", id.Range, "%s has no attribute %q", parent, id.Name).WithHelp("%s", m.elsewhere(parent, id.Name, "it has"))
		return
	}
	m.add(path, &setting{name: id.Range, value: e}, row)
}

// argument sets an argument of the value of an attribute.
func (m *merger) argument(attr string, args []dsl.Ident, e *dsl.Expr) {
	path := attr
	for _, id := range args {
		path = join(path, id.Name)
	}
	m.add(path, &setting{name: args[len(args)-1].Range, value: e, args: args}, m.lang.argument(path))
}

// add sets an attribute or argument, which this body must not have set before.
func (m *merger) add(path string, s *setting, row *dsl.Row) {
	m.written.setting(path, s, row)
	if old, ok := m.already(path, s); ok {
		m.twice(s.name, old, path)
		return
	}
	m.seen[path] = s.name
	switch in, meaning := m.lang.overlay(path); {
	case in == "sweep" && meaning != "":
		addNew(&m.axes, meaning)
		m.put(path, s) // an axis sets its values one by one
		return
	case in != "" && meaning != "":
		m.inside[in] = append(m.inside[in], meaning)
	}
	m.set(path, s)
}

// already returns where this body has set the same path: directly, by an argument's path,
// or in a call.
func (m *merger) already(path string, s *setting) (old diag.Range, ok bool) {
	if old, ok = m.seen[path]; ok {
		return old, true
	}
	if in, meaning := m.lang.overlay(path); in == "sweep" && meaning != "" {
		return old, false
	}
	for _, p := range m.within(path) {
		if old, ok = m.seen[p]; ok {
			return old, true
		}
	}
	attr := s.attribute(path)
	if _, ok = m.seen[attr]; ok {
		if e := m.given(attr, m.settings[attr].value, s.args); e != nil {
			return e.Range, true
		}
	}
	return old, false
}

// elsewhere returns help for an unknown attribute: a hint, or a similar name in the
// block, or in another block, or all names in the block. Attention alone has no other
// blocks.
func (m *merger) elsewhere(block, name, otherwise string) string {
	here := m.lang.names(block)
	if block == "attention" {
		return diag.DidYouMean(name, here, otherwise)
	}
	if h := m.lang.renamed(join(block, name)); h != "" {
		return h
	}
	if h := m.lang.hintFor(block, name); h != "" {
		return h
	}
	if diag.Nearest(name, here) == "" {
		for _, r := range m.lang.schema.Rows {
			if overridable(r.Path) && len(last(r.Path)) > 1 && diag.Nearest(name, []string{last(r.Path)}) != "" {
				return "did you mean \"" + r.Path + "\"?"
			}
		}
	}
	return diag.DidYouMean(name, here, otherwise)
}

// checkKind reports a missing or unknown kind of task.
func (c *checker) checkKind() {
	label := c.labels["task"]
	names := make([]string, len(c.lang.schema.Kinds))
	for i, k := range c.lang.schema.Kinds {
		names[i] = k.Name
	}
	if label == nil {
		c.report("E0307", c.where("task"), "no task is named").WithHelp("write task KIND { … }; kinds are %s", strings.Join(names, ", "))
		return
	}
	if slices.Contains(names, label.Name) {
		c.kind = label.Name
		return
	}
	c.report("E0208", label.Range, "there is no task %q", label.Name).WithHelp("%s", diag.DidYouMean(label.Name, names, "tasks are"))
}

// where returns the place of a block, or of the nearest block around it, or the beginning
// of the spec.
func (c *checker) where(path string) diag.Range {
	if r := c.merged.where(path); r.Start.IsValid() {
		return r
	}
	top := diag.Pos{File: c.main, Line: 1, Col: 1}
	return diag.Range{Start: top, End: top}
}

// where returns the place of a block, or of the nearest block around it. The range is
// zero if there is none.
func (m *merged) where(path string) diag.Range {
	for path != "" {
		if r, ok := m.places[path]; ok {
			return r
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return diag.Range{}
}

// place returns where the block begins.
func (m *merged) place(path string) diag.Pos { return m.where(path).Start }

// text returns a value for a message, shortened.
func text(e *dsl.Expr) string {
	s := dsl.Format(e)
	if r := []rune(s); len(r) > 40 {
		return fmt.Sprintf("%s…", string(r[:40]))
	}
	return s
}
