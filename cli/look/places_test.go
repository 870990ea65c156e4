package look

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// TestPlaces compares places of a spec and lists their lines.
func TestPlaces(t *testing.T) {
	at := func(line, col int) diag.Pos { return diag.Pos{File: "a", Line: line, Col: col} }
	span := func(a, b, c, d int) diag.Range { return diag.Range{Start: at(a, b), End: at(c, d)} }
	for _, c := range []struct {
		p, q diag.Pos
		want bool
	}{{at(1, 9), at(2, 1), true}, {at(2, 1), at(1, 9), false}, {at(2, 1), at(2, 2), true}, {at(2, 2), at(2, 2), false}, {at(2, 3), at(2, 2), false}} {
		if got := before(c.p, c.q); got != c.want {
			t.Errorf("%v is before %v: %v", c.p, c.q, got)
		}
	}
	whole := span(2, 3, 4, 5)
	elsewhere := span(2, 4, 3, 1)
	elsewhere.Start.File = "b"
	for _, c := range []struct {
		of   diag.Range
		want bool
	}{
		{whole, true}, {span(2, 4, 4, 4), true}, {span(3, 1, 3, 9), true}, {span(2, 2, 3, 1), false}, {span(1, 9, 3, 1), false},
		{span(3, 1, 4, 6), false}, {span(3, 1, 5, 1), false}, {span(1, 1, 9, 9), false}, {elsewhere, false},
	} {
		if got := inside(c.of, whole); got != c.want {
			t.Errorf("%v lies in %v: %v", c.of, whole, got)
		}
	}
	for _, c := range []struct {
		of   diag.Range
		want []place
	}{
		{span(2, 3, 4, 5), []place{{"a", 2}, {"a", 3}, {"a", 4}}}, {span(2, 3, 2, 5), []place{{"a", 2}}}, {diag.Range{Start: at(7, 1)}, []place{{"a", 7}}},
	} {
		if diff := cmp.Diff(c.want, lines(c.of), cmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("lines of %v: %s", c.of, diff)
		}
	}
}

// TestDefinitionsOfASite names the definitions that the bias and the mask of a site use,
// directly or through others, but none of other sites or overridden settings.
func TestDefinitionsOfASite(t *testing.T) {
	files := map[string]string{"base.arith": `arith 2

task addition { operands = digits(1..3) }
bias near { value = -abs(i - j) }
bias far { value = 2 * near }
bias other { value = i - j }
bias unused { value = i + j }
mask window { keep = abs(i - j) < 5 }
model.decoder.self.bias = unused
model.decoder.cross.bias = other
`, "a.arith": `arith 2

include "base.arith"

model.decoder.self.bias = far
model.decoder.self.mask = window
`}
	doc := check.Inspect(check.Options{Path: "a.arith", Read: func(path string) ([]byte, error) { return []byte(files[path]), nil }})
	for site, want := range map[string]map[string]bool{
		"model.decoder.self":  {"bias.far": true, "bias.near": true, "mask.window": true},
		"model.decoder.cross": {"bias.other": true},
		"model.encoder.self":  {},
	} {
		if diff := cmp.Diff(want, definitionsOf(doc, site)); diff != "" {
			t.Errorf("%s: %s", site, diff)
		}
	}
}
