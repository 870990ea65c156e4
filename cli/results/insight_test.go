package results

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/runtest"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/serve"
)

// TestAttention has a map for each head of each site, with the tokens of its rows and
// columns.
func TestAttention(t *testing.T) {
	run := runtest.Untrained(t, "../../specs/successor.arith", "model.width=16")
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	found, err := attentionOf(sh, run, "129", 0)
	if err != nil {
		t.Fatal(err)
	}
	if found.Expected != "130" || found.Answer == "130" {
		t.Errorf("the answer of equal weights is %q, and right is %q", found.Answer, found.Expected)
	}
	if len(found.Maps) != 2*2*4 {
		t.Fatalf("%d maps", len(found.Maps))
	}
	self, cross := found.Maps[0], found.Maps[4]
	if self.Name != "decoder.0.self" || cross.Name != "decoder.0.cross" || found.Maps[5].Head != 1 {
		t.Errorf("%s, %s, head %d", self.Name, cross.Name, found.Maps[5].Head)
	}
	if rows := strings.Join(self.Rows, ""); rows != strings.Join(self.Cols, "") || !strings.HasPrefix(rows, "^") || !strings.Contains(found.Answer, rows[1:4]) {
		t.Errorf("self attention of %q to %q", self.Rows, self.Cols)
	}
	if got := strings.Join(cross.Cols, ""); !strings.HasSuffix(got, "129$") || len(cross.Values) != len(cross.Rows) || len(cross.Values[0]) != len(cross.Cols) {
		t.Errorf("cross attention to %q, %d x %d", got, len(cross.Values), len(cross.Values[0]))
	}
	if _, err := attentionOf(sh, run, "12+3", 0); err == nil {
		t.Error("12+3 is no number")
	}
	if err := os.RemoveAll(filepath.Join(run, "ckpt")); err != nil {
		t.Fatal(err)
	}
	if _, err := attentionOf(sh, run, "129", 0); err == nil || !strings.Contains(err.Error(), "no checkpoint yet") {
		t.Error(err)
	}
}

// TestMaps returns the attention of one layer as plot draws it: the same weights as on a page.
func TestMaps(t *testing.T) {
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	run := runtest.Untrained(t, "../../specs/successor.arith", "model.width=16")
	page, err := attentionOf(sh, run, "129", 0)
	if err != nil {
		t.Fatal(err)
	}
	for layer, want := range []string{"decoder layer 2", "decoder layer 1"} {
		found, err := mapsOf(sh, run, "129", layer)
		if err != nil {
			t.Fatal(err)
		}
		self, cross := found.Maps[0], found.Maps[1]
		if len(found.Maps) != 2 || self.Layer != want || self.Site != "self" || !self.Causal || cross.Site != "cross" || cross.Causal || len(cross.Heads) != 4 {
			t.Errorf("layer %d: %d maps of %s %s and %s", layer, len(found.Maps), self.Layer, self.Site, cross.Site)
		}
		if found.Answer != page.Answer || found.Expected != "130" || !slices.Equal(cross.Columns, page.Maps[4].Cols) || !slices.Equal(self.Columns, page.Rows) {
			t.Errorf("layer %d: %q, %q, columns %q", layer, found.Answer, found.Expected, cross.Columns)
		}
		first := 8 * (1 - layer)
		if !reflect.DeepEqual(cross.Heads[3], page.Maps[first+7].Values) || page.Maps[first+7].Head != 3 {
			t.Errorf("layer %d: other weights than on the page", layer)
		}
	}
	if _, err := mapsOf(sh, run, "129", 3); err == nil || !strings.Contains(err.Error(), "the layers 1 to 2") {
		t.Error(err)
	}
	both, err := mapsOf(sh, runtest.Untrained(t, "../../specs/tiny.arith", "model.width=16"), "129", 0)
	if err != nil {
		t.Fatal(err)
	}
	if first := both.Maps[0]; len(both.Maps) != 3 || first.Layer != "encoder layer 1" || first.Causal || !slices.Equal(first.Rows, first.Columns) || first.Rows[len(first.Rows)-1] != "$" {
		t.Errorf("an encoder and a decoder: %d maps, %+v", len(both.Maps), first)
	}
	run = runtest.Untrained(t, "../../specs/small/looped.arith")
	looped, err := mapsOf(sh, run, "12+9", 1)
	if err != nil {
		t.Fatal(err)
	}
	if page, err = attentionOf(sh, run, "12+9", 0); err != nil {
		t.Fatal(err)
	}
	last := slices.IndexFunc(page.Maps, func(m serve.Map) bool { return m.Name == "loop.0.self" && m.Run == 1 })
	if m := looped.Maps[0]; len(looped.Maps) != 1 || m.Layer != "loop layer 1" || !m.Causal || !reflect.DeepEqual(m.Heads[0], page.Maps[last].Values) {
		t.Errorf("a loop: %d maps, the first of %s", len(looped.Maps), m.Layer)
	}
}

// TestBiases has a curve over the distances of open cells for each head that learns a bias.
func TestBiases(t *testing.T) {
	run := runtest.Untrained(t, "../../specs/kerple.arith", "model.width=16")
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	found, err := biasesOf(sh, run)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 4 { // one bias for both layers
		t.Fatalf("%d biases", len(found))
	}
	b := found[1]
	if b.Name != "decoder.*.self" || b.Kind != "curve" || len(b.X) < 2 || len(b.X) != len(b.Values[0]) || b.X[len(b.X)-1] != 0 || b.X[0] != b.X[1]-1 {
		t.Errorf("%+v", b)
	}
	plain, err := biasesOf(sh, runtest.Untrained(t, "../../specs/successor.arith", "model.width=16"))
	if err != nil || len(plain) > 0 {
		t.Errorf("%d biases of a model without any: %v", len(plain), err)
	}
}

// TestMoved looks into a run on a file's problems where only the run directory is left.
func TestMoved(t *testing.T) {
	here := t.TempDir()
	for name, text := range map[string]string{
		"words.txt":   "ab=ba\nabc=cba\nbc=cb\nca=ac\n",
		"words.arith": "arith 2\n\ntask file {\n  path = \"words.txt\"\n  separator = \"=\"\n}\n\nmodel.width = 16\nmodel.decoder_only.layers = 1\nmodel.decoder_only.self.bias = kerple\n",
	} {
		if err := os.WriteFile(filepath.Join(here, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := runtest.Untrained(t, filepath.Join(here, "words.arith"))
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.RemoveAll(here), os.Rename(run, moved)); err != nil {
		t.Fatal(err)
	}
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	found, err := attentionOf(sh, moved, "abc", 0)
	if err != nil {
		t.Fatal(err)
	}
	if found.Expected != "cba" || len(found.Maps) == 0 {
		t.Errorf("%d maps for %q", len(found.Maps), found.Expected)
	}
	if biases, err := biasesOf(sh, moved); err != nil || len(biases) == 0 {
		t.Errorf("%d biases, %v", len(biases), err)
	}
}
