package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/export"
)

// TestStore keeps the parameters in a Python file up to a size, and next to it beyond.
func TestStore(t *testing.T) {
	for _, c := range []struct {
		asked      string
		parameters int
		want       export.Store
	}{
		{"auto", export.Inside / 4, export.Base64},
		{"auto", export.Inside/4 + 1, export.Beside},
		{string(export.Base64), export.Inside, export.Base64},
		{string(export.Beside), 1, export.Beside},
	} {
		if got := (&Export{Store: c.asked}).store(c.parameters); got != c.want {
			t.Errorf("%d parameters, --store %s: %s, want %s", c.parameters, c.asked, got, c.want)
		}
	}
}

// TestExportWhole wants a failing export to leave the whole old one.
func TestExportWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	text := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	c := &Export{Format: "hf", Out: dir, Force: true}
	if err := c.write([]export.File{{Path: "config.json", Data: []byte("old")}, {Path: "weights", Data: []byte("old")}}); err != nil {
		t.Fatal(err)
	}
	new := []export.File{{Path: "nowhere/config.json", Data: []byte("new")}, {Path: "weights", Data: []byte("new")}}
	if err := c.write(new); err == nil || text("weights") != "old" || text("config.json") != "old" {
		t.Errorf("%v, and then %q beside %q", err, text("config.json"), text("weights"))
	}
	new[0].Path = "config.json"
	if err := c.write(new); err != nil || text("weights") != "new" || text("config.json") != "new" {
		t.Errorf("%v, and then %q beside %q", err, text("config.json"), text("weights"))
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); len(left) != 1 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}
