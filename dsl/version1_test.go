package dsl

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl/diag"
	"golang.org/x/tools/txtar"
)

// TestVersions: a spec of another version is refused at its number, and the help for
// version 1 converts it.
func TestVersions(t *testing.T) {
	for src, want := range map[string]string{
		"// a\narith 1\n\ntask successor {}\n": "2:7 this compiler knows version 2, not 1 (mlc fmt old.arith turns it into version 2)",
		"arith 3\n":                            `1:7 this compiler knows version 2, not 3 (a spec begins with "arith 2")`,
	} {
		_, list := Parse("specs/old.arith", []byte(src))
		if len(list) != 1 || list[0].Code != "E0105" {
			t.Fatalf("%q: %v", src, list)
		}
		d := list[0]
		if got := strings.TrimPrefix(d.Range.Start.String(), "specs/old.arith:") + " " + d.Message + " (" + d.Help + ")"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, same := range []string{"", "arith", "arith 3\nmodel.loop.layers = 1\n", "arith 2\nmodel.loop.layers = 1\n", "x 1"} {
		if got, list := Upgrade("f", []byte(same)); string(got) != same || len(list) > 0 {
			t.Errorf("%q becomes %q, with %v", same, got, list)
		}
	}
	const broken = "arith 1\ntask copy {\n  below 3\n}\n"
	got, list := FormatFile("f", []byte(broken))
	if string(got) != broken || len(list) != 1 || list[0].Code != "E0101" || list[0].Range.Start.Line != 3 {
		t.Errorf("a broken file becomes %q, with %v", got, list)
	}
}

// TestRenamings: what is written instead exists.
func TestRenamings(t *testing.T) {
	s := NewSchema()
	for _, r := range renamings {
		block, name, _ := strings.Cut(r.now, ".")
		name, _, _ = strings.Cut(name, ".")
		if path := block + "." + name; s.Row(path) == nil && path != "model.decoder_only" {
			t.Errorf("there is no %s for %s", path, r.old)
		}
		if Renamed(r.old) != "write "+r.write {
			t.Errorf("%s: %q", r.old, Renamed(r.old))
		}
	}
	for _, c := range diag.Codes() {
		if want := "write vet." + c.Name + " = off"; c.Name != "" && (Renamed("vet."+c.ID) != want || s.Row("vet."+c.Name) == nil) {
			t.Errorf("vet.%s: %q, want %s", c.ID, Renamed("vet."+c.ID), want)
		}
	}
	if Renamed("model.width") != "" || Renamed("stage.from") != "" {
		t.Error("what has its old name is renamed")
	}
}

// FuzzUpgrade: whatever parses as version 1 parses as version 2, unless it becomes too deep.
func FuzzUpgrade(f *testing.F) {
	files, _ := filepath.Glob("testdata/version1/*.txtar")
	for _, file := range files {
		if a, err := txtar.ParseFile(file); err == nil {
			f.Add(string(a.Files[0].Data))
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		now, list := Upgrade("f", []byte(src))
		if string(now) == src || len(list) > 0 {
			return
		}
		if _, list := Parse("f", now); len(list) > 0 && list[0].Code != "E0103" {
			t.Fatalf("%q becomes %q: %s", src, now, list[0].Message)
		}
	})
}
