package look

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// newTraceOf follows a compiled spec through the stages.
func newTraceOf(p *compiler.Program, t project.Training) (*trace, error) {
	doc, files := inspect(t)
	return newTrace(p, doc, files)
}

// inspect reads a spec and the files that it includes.
func inspect(t project.Training) (doc *check.Document, files []specFile) {
	opts := t.Options()
	opts.Read = func(name string) ([]byte, error) {
		text, err := t.Read(name)
		if err == nil && !slices.ContainsFunc(files, func(f specFile) bool { return f.name == name }) {
			files = append(files, specFile{name, text})
		}
		return text, err
	}
	return check.Inspect(opts), files
}

// A followed describes what becomes of a line of a spec.
type followed struct {
	place
	Text     string          `json:"text"`
	Settings []settingOnLine `json:"settings"`
	Stages   []followedStage `json:"stages"`
	only     string          // the requested stage; "": all
}

type settingOnLine struct {
	Path  string `json:"path"`
	Value string `json:"value"` // resolved
	Doc   string `json:"doc,omitempty"`
	Wins  bool   `json:"wins"` // no later setting overrides it
}

type followedStage struct {
	Stage string            `json:"stage"`
	Parts []followedSection `json:"parts"`
}

type followedSection struct {
	Head  string   `json:"head"`
	Lines []string `json:"lines"` // empty for a kernel, unless its stage is requested
}

// FollowLine prints what becomes of a line of a spec at each stage. With a stage it prints
// that stage's text in full.
func FollowLine(sh *shell.Shell, p *compiler.Program, of project.Training, at, stage string) error {
	doc, files := inspect(of)
	where, err := find(specSections(files), at)
	if err != nil {
		return err
	}
	t, err := shell.Await(sh, func() (*trace, error) { return newTrace(p, doc, files) })
	if err != nil {
		return err
	}
	if stage != "" && !slices.ContainsFunc(t.columns, func(c column) bool { return c.name == stage }) {
		return shell.Usagef("--line: lines are not followed to stage %s", stage)
	}
	f := t.follow(where, stage)
	for _, x := range doc.Settings {
		if slices.Contains(lines(diag.Range{Start: x.Name.Start, End: x.Value.End}), where) {
			on := settingOnLine{Path: x.Path, Value: x.Text, Wins: x.Wins}
			if x.Row != nil {
				on.Doc = x.Row.Doc
			}
			f.Settings = append(f.Settings, on)
		}
	}
	switch {
	case len(f.Settings) == 0 && len(f.Stages) == 0:
		return shell.Usagef("--line: line %d of %s sets nothing", where.Line, of.Shown(where.File))
	case stage != "" && len(f.Stages) == 0:
		return shell.Usagef("--line: nothing at stage %s comes from line %d of %s", stage, where.Line, of.Shown(where.File))
	}
	f.File = of.Shown(f.File)
	if sh.JSON {
		return sh.PrintJSON(f)
	}
	_, err = io.WriteString(sh.Out, f.String())
	return err
}

// find returns the place for LINE or FILE:LINE: a line of the spec, or of an included file,
// which is named by the end of its path.
func find(files []section, at string) (place, error) {
	file, number := "", at
	if i := strings.LastIndexByte(at, ':'); i >= 0 {
		file, number = at[:i], at[i+1:]
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return place{}, shell.Usagef("--line: %q is neither LINE nor FILE:LINE", at)
	}
	var names []string
	for _, s := range files {
		names = append(names, s.head)
		if file != "" && s.head != file && !strings.HasSuffix(s.head, "/"+path.Clean(file)) {
			continue
		}
		if n < 1 || n > len(s.lines) {
			return place{}, shell.Usagef("--line: %s has %d lines", s.head, len(s.lines))
		}
		return place{s.head, n}, nil
	}
	return place{}, shell.Usagef("--line: the spec is not read from %s, but from %s", file, strings.Join(names, ", "))
}

// follow collects the parts that come from a place: at all stages, with kernels by name, or
// at one stage, with their text.
func (t *trace) follow(at place, stage string) followed {
	f := followed{place: at, Settings: []settingOnLine{}, Stages: []followedStage{}, only: stage}
	for _, c := range t.columns {
		st := followedStage{Stage: c.name}
		for _, s := range c.sections {
			if part, ok := s.follow(at, stage != ""); ok {
				st.Parts = append(st.Parts, part)
			}
		}
		switch {
		case c.name == "spec":
			f.Text = strings.TrimSpace(st.Parts[0].Lines[0])
		case len(st.Parts) > 0 && (stage == "" || stage == c.name):
			f.Stages = append(f.Stages, st)
		}
	}
	return f
}

// alignment matches the space before comments that are aligned.
var alignment = regexp.MustCompile(` {2,}//`)

// follow returns the part of a section that comes from a place.
func (s section) follow(at place, text bool) (followedSection, bool) {
	out := followedSection{Head: s.head, Lines: []string{}}
	if s.whole && !slices.Contains(s.from, at) {
		return out, false
	}
	for _, l := range s.lines {
		if s.whole && text || slices.Contains(l.from, at) {
			out.Lines = append(out.Lines, alignment.ReplaceAllString(l.text, " //"))
		}
	}
	return out, s.whole || len(out.Lines) > 0
}

// String returns the text for people.
func (f followed) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s\n", f.File, f.Line, f.Text)
	for _, s := range f.Settings {
		fmt.Fprintf(&b, "  %s: %s\n", s.Path, s.about())
	}
	computed := f.only != ""
	for _, st := range f.Stages {
		computed = computed || st.Stage != "resolved"
		fmt.Fprintf(&b, "\n%s\n", st.Stage)
		for _, s := range st.Parts {
			if s.Head != "" {
				fmt.Fprintf(&b, "  %s\n", s.Head)
			}
			for _, l := range s.Lines {
				fmt.Fprintf(&b, "    %s\n", strings.TrimPrefix(l, "  "))
			}
		}
	}
	if !computed {
		b.WriteString("\nNo kernel comes from this line alone: it is a size, or something that the trainer\nreads in model.go.\n")
	}
	return b.String()
}

// about explains a setting.
func (s settingOnLine) about() string {
	text := cmp.Or(s.Doc, "a definition")
	if !s.Wins {
		text += " (a later setting overrides it)"
	}
	return text
}
