package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/codegen"
)

// installed returns a product with an installed binary.
func installed(t *testing.T, text string) *Product {
	t.Helper()
	dir := t.TempDir()
	p := &Product{Binary: filepath.Join(dir, "tiny"), files: []codegen.File{{Path: "main.go", Data: []byte("package main\n")}}}
	made := filepath.Join(t.TempDir(), "tiny")
	if err := os.WriteFile(made, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := install(p, made, seal{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFresh detects a binary that was changed, or built from another program, whatever its
// size and time.
func TestFresh(t *testing.T) {
	const text = "what go build has written"
	for name, change := range map[string]func(p *Product) error{
		"emptied":   func(p *Product) error { return os.Truncate(p.Binary, 0) },
		"truncated": func(p *Product) error { return os.Truncate(p.Binary, 7) },
		"changed":   func(p *Product) error { return os.WriteFile(p.Binary, []byte(strings.ToUpper(text)), 0o755) },
		"removed":   func(p *Product) error { return os.Remove(p.Binary) },
		"unsealed":  func(p *Product) error { return os.Remove(sealPath(p.Binary)) },
		"seal cut":  func(p *Product) error { return os.Truncate(sealPath(p.Binary), 50) },
		"other program": func(p *Product) error {
			p.files[0].Data = []byte("package niam\n")
			return nil
		},
	} {
		p := installed(t, text)
		if !p.fresh() || !whole(p.Binary) {
			t.Fatalf("%s: what was just built is not fresh", name)
		}
		if err := change(p); err != nil {
			t.Fatal(err)
		}
		if p.fresh() {
			t.Errorf("%s: it is taken for fresh", name)
		}
		kept := name == "other program"
		if whole(p.Binary) != kept {
			t.Errorf("%s: whole is %v", name, !kept)
		}
		to := filepath.Join(t.TempDir(), "copy")
		if err := copyWhole(p.Binary, to, readSeal(p.Binary).binary); (err == nil) != kept || paths.Exists(to) != kept {
			t.Errorf("%s: the go command is given it: %v, %v", name, err, paths.Exists(to))
		}
	}
}

// TestEnsureFile replaces other content, even of equal size, and tells it from a missing
// file.
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
	dir := filepath.Dir(filepath.Dir(path))
	if _, err := ensureFile(filepath.Join(dir, "a"), nil); err == nil { // a folder is in the way
		t.Error("a folder becomes a file")
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("a failure leaves %v, %v", left, err)
	}
}
