package look

import (
	"bytes"
	"encoding/xml"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// traceOf follows a shipped spec.
func traceOf(t *testing.T, file string) *trace {
	t.Helper()
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	s, err := project.FindSource("../../specs/"+file, "../..")
	if err != nil {
		t.Fatal(err)
	}
	of := project.Training{Source: s}
	p, err := project.Compile(sh, of)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newTraceOf(p, of)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestTraceIsWhole wants an origin in the spec for every value, kernel and launch, and for
// every line of generated code that launches or computes.
func TestTraceIsWhole(t *testing.T) {
	computes := map[string]*regexp.Regexp{
		"ir": regexp.MustCompile(`^  v\d+ = `), "grad": regexp.MustCompile(`^  v\d+ = `),
		"plan": regexp.MustCompile(`.`), "go": regexp.MustCompile(`\bq\.(Launch|Join)\(`),
	}
	for _, c := range traceOf(t, "tiny.arith").columns {
		seen := 0
		for _, s := range c.sections {
			if s.whole && len(s.from) == 0 {
				t.Errorf("%s: %s comes from nowhere", c.name, s.head)
			}
			for _, l := range s.lines {
				if want := computes[c.name]; want != nil && !s.whole && want.MatchString(l.text) {
					seen++
					if len(l.from) == 0 {
						t.Errorf("%s: %s comes from nowhere", c.name, l.text)
					}
				}
			}
		}
		if computes[c.name] != nil && seen < 20 {
			t.Errorf("%s has %d lines that compute", c.name, seen)
		}
	}
}

// TestFollow checks which kernels come from some lines.
func TestFollow(t *testing.T) {
	tr := traceOf(t, "kerple.arith")
	for _, c := range []struct {
		at       string
		has, not string // in the stage grad
	}{
		{"8", "v2 = bias_table", "cross.attention"},               // model.decoder.self.bias
		{"12", "result d.self.kerple.r1", "kerple.r2 accumulate"}, // a parameter
		{"14", "bias_table_grad", "d.cross.q.w"},                  // the value
		{"successor.arith:23", "{name = ffn.hidden", "self.q"},    // ffn
		{"successor.arith:49", "sqrt(", "layernorm"},              // optimizer
	} {
		at, err := find(tr.columns[0].sections, c.at)
		if err != nil {
			t.Fatal(err)
		}
		var grad strings.Builder
		for _, st := range tr.follow(at, "grad").Stages {
			for _, p := range st.Parts {
				grad.WriteString(strings.Join(p.Lines, "\n") + "\n")
			}
		}
		if !strings.Contains(grad.String(), c.has) || strings.Contains(grad.String(), c.not) {
			t.Errorf("line %s, want %q and not %q:\n%s", c.at, c.has, c.not, grad.String())
		}
	}
}

// TestLinesReachKernels wants something in the IR of a step from each attribute of a model, and of
// each that changes how it is trained. Sizes, and what the trainer does by itself, reach none.
func TestLinesReachKernels(t *testing.T) {
	for _, spec := range []string{"decoder_only.arith", "seq2seq.arith"} {
		tr := traceOf(t, "../cli/look/testdata/"+spec)
		inside := false
		for i, l := range tr.columns[0].sections[0].lines {
			name, _, ok := strings.Cut(l.text, " = ")
			if inside = inside || strings.HasPrefix(l.text, "model"); !ok || !inside {
				continue
			}
			at, err := find(tr.columns[0].sections, strconv.Itoa(i+1))
			if err != nil {
				t.Fatal(err)
			}
			silent := slices.Contains([]string{"width", "layers", "times", "average", "budget", "eval.digits"}, strings.TrimSpace(name))
			if reached := len(tr.follow(at, "grad").Stages) > 0; reached == silent {
				t.Errorf("%s:%d: %s reaches a value: %v", spec, i+1, l.text, reached)
			}
		}
	}
}

// TestPage wants a page with closed tags and without outside references, whose numbers are
// lines of the spec.
func TestPage(t *testing.T) {
	tr := traceOf(t, "tiny.arith")
	page, err := tr.page("<tiny>", "1")
	if err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"http:", "https:", "src=", "href=", "@import", "url("} {
		if bytes.Contains(page, []byte(outside)) {
			t.Errorf("the page has %s", outside)
		}
	}
	script := regexp.MustCompile(`(?s)<script>.*</script>`)
	d := xml.NewDecoder(bytes.NewReader(script.ReplaceAll(page, nil)))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta"}, xml.HTMLEntity
	var open []string
	ids := map[string]bool{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			open = append(open, e.Name.Local)
			for _, a := range e.Attr {
				if a.Name.Local == "data-from" {
					for _, n := range strings.Fields(a.Value) {
						ids[n] = true
					}
				}
			}
		case xml.EndElement:
			if open[len(open)-1] != e.Name.Local {
				t.Fatalf("%v is closed by %s", open, e.Name.Local)
			}
			open = open[:len(open)-1]
		}
	}
	lines := 0
	for _, s := range tr.columns[0].sections {
		lines += len(s.lines)
	}
	if len(open) > 0 || len(ids) != lines {
		t.Errorf("open: %v, %d numbers for %d lines", open, len(ids), lines)
	}
	if !bytes.Contains(page, []byte("<title>&lt;tiny&gt;: every stage</title>")) {
		t.Error("the title is not escaped")
	}
}

// TestFollowLine names files from the current folder, in results and in errors.
func TestFollowLine(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	of := project.Training{Source: project.Source{Base: root, Name: "cli/testdata/least.arith"}}
	var out strings.Builder
	sh := &shell.Shell{Context: t.Context(), Out: &out, Err: t.Output()}
	p, err := project.Compile(sh, of)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "cli", "testdata"))
	sh.JSON = true
	if err := FollowLine(sh, p, of, "12", ""); err != nil || !strings.HasPrefix(out.String(), `{"file":"least.arith","line":12,`) {
		t.Errorf("%v, %.200s", err, out.String())
	}
	if err := FollowLine(sh, p, of, "2", ""); err == nil || err.Error() != "--line: line 2 of least.arith sets nothing" {
		t.Error(err)
	}
}
