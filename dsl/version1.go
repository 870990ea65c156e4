package dsl

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl/diag"
)

// renamings maps paths of version 1 to paths of version 2, and to what a spec writes. A
// path without a new one is an argument of another attribute's value.
var renamings = []struct{ old, now, write string }{
	{"model.loop", "model.decoder_only", "model.decoder_only"},
	{"task.below", "task.operands.bound", "task.operands = below(1Mi)"},
	{"task.digits", "task.operands.range", "task.operands = digits(1..20)"},
	{"task.sampling", "task.operands.sampling", "task.operands = below(1Mi, sampling = …)"},
	{"task.epochs", "task.operands.epochs", "task.operands = below(1Mi, epochs = …)"},
	{"task.operands", "task.terms", "task.terms = 2..5"},
	{"train.ramp_from", "train.ramp.from", "train.ramp = grow(over = 60%, from = …)"},
	{"eval.operands", "eval.terms", "eval.terms = …"},
	{"eval.every", "eval.during.every", "eval.during = tests(every = 200steps)"},
	{"eval.during", "eval.during.digits", "eval.during = tests(every = 200steps, digits = …)"},
	{"eval.during_samples", "eval.during.samples", "eval.during = tests(every = 200steps, samples = …)"},
}

// ofCalibration are the attributes and blocks that made a stage of version 1 a
// calibration.
var ofCalibration = []string{"samples", "layer", "of", "extend", "reduce", "subtract", "empty", "self", "cross"}

// Renamed returns what to write for an attribute or block of version 1 that version 2
// lacks, or "". The names of stages are left out of the path.
func Renamed(path string) string {
	block, name, _ := strings.Cut(path, ".")
	switch {
	case block == "stage" && slices.Contains(ofCalibration, name):
		return "write calibrate NAME { … }, a block of its own"
	case block == "vet":
		if c, ok := diag.Lookup(name); ok && c.Name != "" {
			return "write vet." + c.Name + " = off"
		}
	}
	for _, r := range renamings {
		if r.old == path {
			return "write " + r.write
		}
	}
	return ""
}

// Upgrade turns a file of version 1 into the same spec in version 2. Comments, and values
// that mean the same, stay as they are. It returns other files unchanged, and files that
// do not parse with their errors.
func Upgrade(name string, src []byte) ([]byte, diag.List) {
	s := newSource(name, src)
	toks, d := lex(s, src)
	if d != nil || len(toks) < 2 || toks[0].Value != "arith" || toks[1].Value != "1" {
		return src, nil
	}
	tree, list := parse(s, src, "1")
	if len(list) > 0 {
		return src, list
	}
	u := &upgrader{source: s, src: string(src)}
	u.change(s.token(toks[1]), "2")
	all := u.body(tree.Entries)
	for _, l := range all {
		if l.stage != "" && len(l.rest) > 0 && slices.Contains(ofCalibration, l.rest[0]) {
			u.calibrations = append(u.calibrations, l.stage)
		}
	}
	u.leaves(all)
	u.entries(nil, tree.Entries)
	return u.apply(), nil
}

// An upgrader collects changes of a text.
type upgrader struct {
	*source
	src          string
	calibrations []string // names of stages that calibrate
	changes      []change
	bodies       int // of the file and of its includes
}

type change struct {
	start, end int
	text       string
}

// A leaf is an attribute with its place in the spec.
type leaf struct {
	*Entry
	body  int      // settings of different bodies override each other
	in    string   // the stage or sweep case around it
	stage string   // the name of the stage
	rest  []string // the path inside
	axis  bool     // the value lists values
}

func (l *leaf) path() string { return strings.Join(l.rest, ".") }

func (u *upgrader) change(r diag.Range, text string) {
	u.changes = append(u.changes, change{u.offset(r.Start), u.offset(r.End), text})
}

// remove removes an attribute, and keeps the comments in it.
func (u *upgrader) remove(l *leaf) {
	kept := ""
	for _, t := range Tokens(u.text(l.Range)) {
		if t.Kind == CommentToken {
			kept += t.Text + "\n"
		}
	}
	u.change(l.Range, kept)
}

func (u *upgrader) text(r diag.Range) string { return u.src[u.offset(r.Start):u.offset(r.End)] }

// apply returns the changed text. A line of which only white space is left goes away.
func (u *upgrader) apply() []byte {
	slices.SortFunc(u.changes, func(a, b change) int { return a.start - b.start })
	var out strings.Builder
	at := 0
	for _, c := range u.changes {
		if c.text == "" {
			line := strings.LastIndexByte(u.src[:c.start], '\n') + 1
			end := c.end + len(u.src[c.end:]) - len(strings.TrimLeft(u.src[c.end:], " \t\r"))
			if line >= at && strings.TrimSpace(u.src[line:c.start]) == "" && end < len(u.src) && u.src[end] == '\n' {
				c.start, c.end = line, end+1
			}
		}
		out.WriteString(u.src[at:c.start] + c.text)
		at = c.end
	}
	return []byte(out.String() + u.src[at:])
}

// names returns the path of an entry inside a block.
func names(block []string, e *Entry) []string {
	out := slices.Clone(block)
	for _, id := range e.Path {
		out = append(out, id.Name)
	}
	if b := e.Block; b != nil && b.Label != nil && last(out) != "task" && last(out) != "model" {
		out = append(out, b.Label.Name)
	}
	return out
}

func last(path []string) string { return path[len(path)-1] }

// place splits a path into the stage or sweep case and the rest.
func place(path []string) leaf {
	n, l := 0, leaf{}
	switch {
	case path[0] == "stage":
		n = 2
	case path[0] == "sweep" && len(path) > 1 && slices.ContainsFunc(blocks(), func(b BlockRow) bool { return b.Path == path[1] }):
		n, l.axis = 1, true
	case path[0] == "sweep":
		n = 3
	}
	n = min(n, len(path))
	l.in, l.rest = strings.Join(path[:n], "."), path[n:]
	if path[0] == "stage" && n == 2 {
		l.stage = path[1]
	}
	return l
}

// body lists the attributes of the entries of a file or of an include's body, and of the
// includes in them.
func (u *upgrader) body(entries []*Entry) []*leaf {
	u.bodies++
	return u.inside(nil, entries, u.bodies)
}

func (u *upgrader) inside(block []string, entries []*Entry, body int) (all []*leaf) {
	for _, e := range entries {
		switch {
		case e.Include != nil:
			all = append(all, u.body(e.Include.Body)...)
		case e.Block != nil:
			all = append(all, u.inside(names(block, e), e.Block.Entries, body)...)
		default:
			l := place(names(block, e))
			l.Entry, l.body = e, body
			all = append(all, &l)
		}
	}
	return all
}

// leaves changes attributes whose values change with them.
func (u *upgrader) leaves(all []*leaf) {
	for _, l := range all {
		with := func(path string) *leaf {
			n := slices.IndexFunc(all, func(o *leaf) bool { return o.body == l.body && o.in == l.in && o.path() == path && !o.axis && !l.axis })
			if n < 0 {
				return nil
			}
			return all[n]
		}
		switch path := l.path(); path {
		case "task.below", "task.digits":
			other := with(map[string]string{"task.below": "task.digits", "task.digits": "task.below"}[path])
			u.operands(l, other, with("task.sampling"), with("task.epochs"))
		case "task.sampling", "task.epochs":
			if with("task.below") == nil && with("task.digits") == nil {
				u.rename(l)
			} else { // an argument of below, or without effect
				u.remove(l)
			}
		case "train.ramp":
			u.call(l, "ramp", "grow(over = ", with("train.ramp_from"))
		case "train.ramp_from":
			u.joined(l, with("train.ramp"))
		case "eval.every":
			u.call(l, "during", "tests(every = ", with("eval.during"), with("eval.during_samples"))
		case "eval.during", "eval.during_samples":
			u.joined(l, with("eval.every"))
		case "train.precision":
			u.values(l, replacing("auto", "f32"))
		case "train.throttle":
			u.values(l, replacing("false", "none", "true", "loss"))
		case "task.operands", "eval.operands":
			u.rename(l)
		case "model.loop.times":
			if l.in == "" && u.bodies == 1 && len(l.Path) == 1 && u.text(l.Value.Range) == "1" { // no included file has more
				u.remove(l)
			}
		default:
			if c, ok := diag.Lookup(strings.TrimPrefix(path, "vet.")); ok && l.rest[0] == "vet" && c.Name != "" {
				u.change(l.Path[len(l.Path)-1].Range, c.Name)
			}
		}
	}
}

// replacing returns a function that replaces words: an old one, the new one, and so on.
func replacing(words ...string) func(string) string {
	return func(text string) string {
		for n := 0; n < len(words); n += 2 {
			if words[n] == text {
				return words[n+1]
			}
		}
		return text
	}
}

func isNone(e *Expr) bool { return e.Kind == Name && e.Text == "none" }

// operands turns below or digits, with the attributes for below, into one call.
func (u *upgrader) operands(l, other, sampling, epochs *leaf) {
	is := last(l.rest)
	switch {
	case l.axis && l.Value.Kind != List:
		u.rename(l)
		return
	case !l.axis && isNone(l.Value) && (other != nil || is == "digits"):
		u.remove(l)
		return
	case !l.axis && isNone(l.Value):
		u.change(l.Path[len(l.Path)-1].Range, "operands")
		u.change(l.Value.Range, "digits(1..20)")
		return
	}
	more := ""
	for _, a := range []*leaf{sampling, epochs} {
		if a != nil && is == "below" {
			more += ", " + last(a.rest) + " = " + Format(a.Value)
		}
	}
	u.change(l.Path[len(l.Path)-1].Range, "operands")
	u.values(l, func(text string) string { return is + "(" + text + more + ")" })
}

// call turns the value of an attribute, and of others with it, into a call.
func (u *upgrader) call(l *leaf, name, open string, others ...*leaf) {
	more := ""
	for _, o := range others {
		if o != nil && Format(o.Value) != "auto" {
			argument := strings.TrimPrefix(renamedPath(o.path()), strings.Join(l.rest[:1], ".")+"."+name+".")
			more += ", " + argument + " = " + Format(o.Value)
		}
	}
	u.change(l.Path[len(l.Path)-1].Range, name)
	u.values(l, func(text string) string {
		if text == "none" || text == "0%" {
			return "none"
		}
		return open + text + more + ")"
	})
}

// joined removes an attribute that became an argument of another, or renames it.
func (u *upgrader) joined(l, to *leaf) {
	if to != nil {
		u.remove(l)
	} else {
		u.rename(l)
	}
}

// values changes the value of an attribute, or the values of an axis.
func (u *upgrader) values(l *leaf, f func(text string) string) {
	all := []*Expr{l.Value}
	if l.axis && l.Value.Kind == List {
		all = nil
		for _, a := range l.Value.Args {
			all = append(all, a.Value)
		}
	}
	for _, e := range all {
		u.change(e.Range, f(u.text(e.Range)))
	}
}

func renamedPath(path string) string {
	for _, r := range renamings {
		if r.old == path {
			return r.now
		}
		if rest, ok := strings.CutPrefix(path, r.old+"."); ok {
			return r.now + "." + rest
		}
	}
	return path
}

// rename gives an attribute its new name. The block stays.
func (u *upgrader) rename(l *leaf) {
	_, name, _ := strings.Cut(renamedPath(l.path()), ".")
	u.change(l.Path[len(l.Path)-1].Range, name)
}

// entries renames blocks, and paths in values.
func (u *upgrader) entries(block []string, entries []*Entry) {
	for _, e := range entries {
		if e.Include != nil {
			u.entries(nil, e.Include.Body)
			continue
		}
		whole := names(block, e)
		for n, id := range e.Path {
			path := whole[:len(block)+n+1]
			switch {
			case len(path) == 1 && id.Name == "stage" && len(whole) > 1 && slices.Contains(u.calibrations, whole[1]):
				u.change(id.Range, "calibrate")
			case id.Name == "loop" && strings.Join(place(path).rest, ".") == "model.loop":
				u.change(id.Range, "decoder_only")
			}
		}
		switch {
		case e.Block != nil:
			if e.Block.Label != nil && last(whole) == "model" {
				u.change(e.Block.Label.Range, "")
			}
			u.entries(whole, e.Block.Entries)
		case place(whole).axis:
			Rewrite(e.Value, func(x *Expr) *Expr {
				if now := renamedPath(x.Text); x.Kind == Name && now != x.Text {
					u.change(x.Range, now)
				}
				return x
			})
		}
	}
}
