package build

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
)

// TestFirst finds the first line that differs, also if it is beyond the end of a file.
func TestFirst(t *testing.T) {
	for _, c := range []struct {
		kind, have, want string
		line             int
		old, new         string
	}{
		{stale, "x\nb", "a\nb", 1, "x", "a"},
		{stale, "a\nx\nc", "a\nb\nc", 2, "x", "b"},
		{stale, "a\nx\ny", "a\nb\nc", 2, "x", "b"},
		{stale, "a", "a\nb\nc", 2, "", "b"},
		{stale, "a\nb\nc", "a\nb", 3, "c", ""},
		{missing, "", "a", 0, "", ""},
		{leftOver, "a", "", 0, "", ""},
	} {
		d := difference{"f", c.kind, []byte(c.have), []byte(c.want)}
		if line, have, want := d.first(); line != c.line || have != c.old || want != c.new {
			t.Errorf("%s, %q for %q: line %d, %q for %q", c.kind, c.have, c.want, line, have, want)
		}
	}
}

// TestCheckFresh lists all files that differ, with the line of the first.
func TestCheckFresh(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &Product{Name: "x", dir: "x", of: project.Training{Source: project.Source{Name: "x.arith"}}}
	for _, name := range []string{"a", "b"} {
		p.files = append(p.files, codegen.File{Path: name, Data: []byte(generatedMark + "\n1\n2\n")})
	}
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll("x", 0o755), os.WriteFile(filepath.Join("x", name), []byte(generatedMark+text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string, fresh bool, how shell.Shell) {
		t.Helper()
		var out strings.Builder
		how.Out, how.Err = &out, t.Output()
		if err := CheckFresh(&how, p); fresh != (err == nil) || !fresh && err != shell.ErrShown {
			t.Error(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
	write("a", "\n1\n2\n")
	write("b", "\n1\n2\n")
	check("x is fresh\n", true, shell.Shell{})
	check("", true, shell.Shell{Quiet: true})
	check(`{"name":"x","dir":"x","fresh":true,"differences":[]}`+"\n", true, shell.Shell{JSON: true, Quiet: true})
	write("a", "\n1\n3\n")
	write("b", "\n3\n2\n")
	write("c", "")
	check("x/a is stale\n@@ line 3 @@\n-3\n+2\nx/b is stale\nx/c is left over\nmake it fresh: mlc build x.arith\n", false, shell.Shell{})
	check("x/a is stale\n@@ line 3 @@\n-3\n+2\nx/b is stale\nx/c is left over\nmake it fresh: mlc build x.arith\n", false, shell.Shell{Quiet: true})
	check(`{"name":"x","dir":"x","fresh":false,"differences":[{"file":"a","kind":"stale","line":3},{"file":"b","kind":"stale","line":2},{"file":"c","kind":"left over"}]}`+"\n", false, shell.Shell{JSON: true})
}

// TestGoBuild runs a script in the place of the go command.
func TestGoBuild(t *testing.T) {
	if shell.ExeSuffix != "" {
		t.Skip("there are no scripts")
	}
	bin, dir := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOWORK", "")
	play := func(script string) {
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	for _, home := range []string{"", dir} {
		play(`echo "$PWD $GOWORK $@" >ran`)
		b := New(&shell.Shell{Context: t.Context(), Err: &said, Verbose: home != ""}, nil, Maker{})
		b.homeDir = home
		if err := b.Build(dir, "./x", "x.out"); err != nil {
			t.Fatal(err)
		}
		work := ""
		if home != "" {
			work = "off"
		}
		text, err := os.ReadFile(filepath.Join(dir, "ran"))
		if want := dir + " " + work + " build -buildvcs=false -ldflags=-w -o x.out ./x\n"; err != nil || string(text) != want {
			t.Errorf("it ran %q, want %q, %v", text, want, err)
		}
	}
	if want := "cd " + dir + " && " + filepath.Join(bin, "go") + " build -buildvcs=false -ldflags=-w -o x.out ./x\n"; said.String() != want {
		t.Errorf("it says %q, want %q", said.String(), want)
	}
	play("echo x.go:1:1: oops; echo no space left on device >&2; exit 1")
	err := New(&shell.Shell{Context: t.Context()}, nil, Maker{}).Build(dir, "./x", "x.out")
	if err == nil || !strings.HasPrefix(err.Error(), "go build of "+dir+" failed: exit status 1\nx.go:1:1: oops\nno space left on device\n") || !strings.Contains(err.Error(), "the disk is full") {
		t.Error(err)
	}
}
