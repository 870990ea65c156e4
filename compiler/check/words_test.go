package check

import (
	"slices"
	"testing"
)

// TestWords: each word is documented and known to expressions.
func TestWords(t *testing.T) {
	for _, w := range Words() {
		if w.Doc == "" || (w.Args == "") == (w.Kind == "function") {
			t.Errorf("%+v lacks something", w)
		}
		known := w.Name == "sum" || w.Name == "table" || w.Name == "learned" || functionNamed(w.Name) != nil
		if w.Kind == "variable" {
			known = slices.Contains(indices, w.Name)
		}
		if w.Kind == "table variable" {
			known = slices.Contains(tableIndices, w.Name)
		}
		if !known {
			t.Errorf("expressions do not know %s", w.Name)
		}
	}
}

// TestPaths looks up attributes inside stages and sweeps.
func TestPaths(t *testing.T) {
	for path, want := range map[string]string{
		"model.width":              "model.width",
		"stage.a.from":             "stage.from",
		"stage.a.model.width":      "model.width",
		"sweep.model.width":        "model.width",
		"sweep.axis.a.model.width": "model.width",
		"bias.a.value":             "",
		"model.wdith":              "",
	} {
		if row := Row(path); (row == nil) != (want == "") || row != nil && row.Path != want {
			t.Errorf("%s is %+v, want %q", path, row, want)
		}
	}
	if BlockRow("stage.a.model") == nil || BlockRow("modle") != nil {
		t.Error("blocks are not found in stages")
	}
	if names := Names("stage.a"); !slices.Contains(names, "from") || !slices.Contains(names, "model") {
		t.Errorf("a stage has %v", names)
	}
}
