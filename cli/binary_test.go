package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen"
)

// installed is a product in a folder, with a binary that install has put there.
func installed(t *testing.T, text string) *product {
	t.Helper()
	dir := t.TempDir()
	p := &product{binary: filepath.Join(dir, "tiny"), files: []codegen.File{{Path: "main.go", Data: []byte("package main\n")}}}
	made := filepath.Join(t.TempDir(), "tiny")
	if err := os.WriteFile(made, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := install(p, made, seal{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFresh wants a binary that is not the one that was built, or is of another program, to
// be noticed whatever its size and time.
func TestFresh(t *testing.T) {
	const text = "what go build has written"
	for name, change := range map[string]func(p *product) error{
		"emptied":   func(p *product) error { return os.Truncate(p.binary, 0) },
		"truncated": func(p *product) error { return os.Truncate(p.binary, 7) },
		"changed":   func(p *product) error { return os.WriteFile(p.binary, []byte(strings.ToUpper(text)), 0o755) },
		"removed":   func(p *product) error { return os.Remove(p.binary) },
		"unsealed":  func(p *product) error { return os.Remove(sealPath(p.binary)) },
		"seal cut":  func(p *product) error { return os.Truncate(sealPath(p.binary), 50) },
		"other program": func(p *product) error {
			p.files[0].Data = []byte("package niam\n")
			return nil
		},
	} {
		p := installed(t, text)
		if !p.fresh() || !whole(p.binary) {
			t.Fatalf("%s: what was just built is not fresh", name)
		}
		if err := change(p); err != nil {
			t.Fatal(err)
		}
		if p.fresh() {
			t.Errorf("%s: it is taken for fresh", name)
		}
		kept := name == "other program"
		if whole(p.binary) != kept {
			t.Errorf("%s: whole is %v", name, !kept)
		}
		to := filepath.Join(t.TempDir(), "copy")
		if err := copyWhole(p.binary, to, readSeal(p.binary).binary); (err == nil) != kept || exists(to) != kept {
			t.Errorf("%s: the go command is given it: %v, %v", name, err, exists(to))
		}
	}
}

// TestEnsureFile wants a file of another text to be written, of equal size, too, and to be
// told from one that was missing.
func TestEnsureFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "x.go")
	for _, c := range []struct {
		have    string
		changed bool
	}{{"", false}, {"package x", false}, {"package y", true}, {"package x and more", true}, {"pack", true}} {
		if c.have != "" {
			if err := os.WriteFile(path, []byte(c.have), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		changed, err := ensureFile(path, []byte("package x"))
		if text, _ := os.ReadFile(path); changed != c.changed || err != nil || string(text) != "package x" {
			t.Errorf("%q: changed %v, %v, and then %q", c.have, changed, err, text)
		}
	}
}
