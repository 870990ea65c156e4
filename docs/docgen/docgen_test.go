package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// TestUpToDate says when a table has changed and go generate has not run.
func TestUpToDate(t *testing.T) {
	for _, p := range pages() {
		have, err := os.ReadFile(filepath.Join("..", p.name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), p.text()); diff != "" {
			t.Errorf("docs/%s is stale, run go generate ./docs/docgen: -is +should be:\n%s", p.name, diff)
		}
	}
}

// TestPages wants every name of the tables in its page.
func TestPages(t *testing.T) {
	spec, codes := specPage(), codesPage()
	s := dsl.NewSchema()
	for _, r := range s.Rows {
		if name := r.Path[strings.LastIndexByte(r.Path, '.')+1:]; !strings.Contains(spec, "| `"+name+"` |") || !strings.Contains(spec, r.Doc) {
			t.Errorf("spec.md lacks %s", r.Path)
		}
	}
	for _, b := range s.Blocks {
		if !strings.Contains(spec, "`"+b.Path) {
			t.Errorf("spec.md lacks the block %s", b.Path)
		}
	}
	for _, w := range check.Words() {
		if w.Doc == "" || !strings.Contains(spec, w.Doc) {
			t.Errorf("spec.md lacks %s, %q", w.Name, w.Doc)
		}
	}
	for _, c := range diag.Codes() {
		if strings.Count(codes, "### "+c.Label()+"\n") != 1 {
			t.Errorf("codes.md lacks %s", c.ID)
		}
	}
}

// TestExamples resolves the specs in the text.
func TestExamples(t *testing.T) {
	for _, prose := range []string{definitions, trainings} {
		spec := "arith 2\n\ntask successor {}\n" + exampleIn(prose)
		_, list := check.Resolve(check.Options{Path: "x", Read: func(name string) ([]byte, error) {
			if name != "x" { // a row of a sweep
				return fmt.Appendf(nil, "arith 2\n\ntask successor {}\n\ntrain.batch = %d\n", len(name)), nil
			}
			return []byte(spec), nil
		}})
		for _, d := range list {
			if d.Severity == diag.Warning {
				continue // a definition that nothing uses
			}
			t.Errorf("%v: %s in:\n%s", d.Range.Start, d.Message, spec)
		}
	}
	alone := "arith 2\n" + exampleIn(attentionAlone)
	_, list := check.ResolveAttention(check.Options{Path: "x", Read: func(string) ([]byte, error) { return []byte(alone), nil }})
	for _, d := range list {
		t.Errorf("%v: %s in:\n%s", d.Range.Start, d.Message, alone)
	}
}

// exampleIn returns the indented lines of a text.
func exampleIn(prose string) string {
	var spec strings.Builder
	for line := range strings.Lines(prose) {
		if code, ok := strings.CutPrefix(line, "    "); ok || line == "\n" {
			spec.WriteString(code)
		}
	}
	return spec.String()
}

// TestGrammar compares the words that the committed colors know with the tables.
func TestGrammar(t *testing.T) {
	src, err := os.ReadFile("../editor/arith.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	var g grammar
	if err := json.Unmarshal(src, &g); err != nil {
		t.Fatal(err)
	}
	k := keywordsOf(dsl.NewSchema())
	want := map[string][]string{
		"storage.type.block.arith":      k.blocks,
		"variable.other.property.arith": k.attributes,
		"support.function.arith":        k.functions,
		"support.constant.arith":        k.choices,
		"variable.language.arith":       k.variables,
	}
	for _, r := range g.Patterns {
		if list, ok := strings.CutPrefix(r.Match, `\b(?:`); ok {
			list, _, _ = strings.Cut(list, ")")
			if diff := cmp.Diff(want[r.Name], strings.Split(list, "|")); diff != "" {
				t.Errorf("words of %s: -want +got:\n%s", r.Name, diff)
			}
			delete(want, r.Name)
		}
	}
	for scope := range want {
		t.Errorf("nothing has the scope %s", scope)
	}
	for _, name := range []string{"decoder", "width", "abs", "causal", "sinusoidal", "addition", "pj"} {
		if !strings.Contains(string(src), name) {
			t.Errorf("%s has no color", name)
		}
	}
}

// TestExtension wants the files that the extension names.
func TestExtension(t *testing.T) {
	const dir = "../editor"
	var p struct {
		Main        string
		Contributes struct {
			Languages []struct {
				ID            string
				Extensions    []string
				Configuration string
			}
			Grammars []struct{ Language, ScopeName, Path string }
		}
	}
	src, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, &p); err != nil {
		t.Fatal(err)
	}
	l, g := p.Contributes.Languages[0], p.Contributes.Grammars[0]
	if l.ID != g.Language || l.Extensions[0] != ".arith" || g.ScopeName != "source.arith" {
		t.Errorf("language %+v and grammar %+v do not agree", l, g)
	}
	for _, file := range []string{p.Main, l.Configuration, g.Path} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	if src, err = os.ReadFile(filepath.Join(dir, l.Configuration)); err != nil || !json.Valid(src) {
		t.Errorf("%s is no JSON: %v", l.Configuration, err)
	}
}

// TestGuide resolves the examples of the guide, which are formatted and have no findings.
func TestGuide(t *testing.T) {
	examples := regexp.MustCompile("(?s)```arith\n(.*?)```").FindAllStringSubmatch(guide, -1)
	if len(examples) != 10 {
		t.Errorf("there are %d examples", len(examples))
	}
	for i, e := range examples {
		read := func(path string) ([]byte, error) {
			if path == "first.arith" {
				return []byte(examples[0][1]), nil
			}
			return []byte(e[1]), nil
		}
		all, list := check.ResolveAll(check.Options{Path: "example.arith", Read: read})
		for _, one := range all {
			if one.Spec != nil {
				list = append(list, check.Lowerable(one.Spec)...)
			}
		}
		for _, d := range list {
			t.Errorf("example %d: %s: %s", i+1, d.Range.Start, d.Message)
		}
		if formatted, _ := dsl.FormatFile("example.arith", []byte(e[1])); string(formatted) != e[1] {
			t.Errorf("example %d is not formatted:\n%s", i+1, formatted)
		}
	}
}
