package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl"
)

// TestStarters wants every starter in the table, formatted, without findings, and
// trainable.
func TestStarters(t *testing.T) {
	files, err := starterFiles.ReadDir("starter")
	if err != nil || len(files) != len(starters) {
		t.Errorf("%d files for %d starters (%v)", len(files), len(starters), err)
	}
	for _, s := range starters {
		given, err := s.files("x")
		if err != nil {
			t.Fatal(err)
		}
		text := given["x.arith"]
		read := func(path string) ([]byte, error) { return given[path], nil }
		spec, found := check.Resolve(check.Options{Path: "x.arith", Read: read})
		if len(found) == 0 {
			found = check.Lowerable(spec)
		}
		if len(found) > 0 {
			t.Errorf("%s: %s: %s", s.name, found[0].Range.Start, found[0].Message)
		}
		if problems, reads := given["x.txt"]; reads && s.name == "grokking" { // TestStory has the other text
			checkSums(t, s.name, problems)
		}
		if formatted, _ := dsl.FormatFile("x.arith", text); !bytes.Equal(formatted, text) {
			t.Errorf("%s is not formatted:\n%s", s.name, formatted)
		}
	}
}

// checkSums wants all sums modulo 97, each once.
func checkSums(t *testing.T, name string, text []byte) {
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var x, y, z int
		if _, err := fmt.Sscanf(line, "%d + %d = %d\n", &x, &y, &z); err != nil || z != (x+y)%97 || min(x, y) < 0 || max(x, y) >= 97 || all[line] {
			t.Errorf("%s: the line %q (%v)", name, line, err)
		}
		all[line] = true
	}
	if len(all) != 97*97 {
		t.Errorf("%s has %d problems", name, len(all))
	}
}

func TestFindOrigin(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(repo, "cli", "build", "module.go")
	for _, c := range []struct {
		name   string
		given  string
		main   debug.Module
		source string
		want   origin
		err    string
	}{
		{"a checkout", "", debug.Module{Version: "(devel)"}, here, origin{checkout: repo}, ""},
		{"a checkout with a version", "", debug.Module{Version: "v0.1.1-0.20261121101100-a609d7e27509"}, here, origin{checkout: repo}, ""},
		{"a release", "", debug.Module{Version: "v0.1.0", Sum: "h1:x"}, "/cache/cli/build/module.go", origin{version: "v0.1.0"}, ""},
		{"a release, and a checkout", repo, debug.Module{Version: "v0.1.0", Sum: "h1:x"}, "", origin{checkout: repo}, ""},
		{"-trimpath", "", debug.Module{Version: "(devel)"}, "github.com/arithlang/mlc/cli/build/module.go", origin{}, "name it with --checkout DIR"},
		{"no checkout", t.TempDir(), debug.Module{}, here, origin{}, "is no checkout of"},
	} {
		got, err := findOrigin(c.given, c.main, c.source)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

// TestModuleFor finds what a folder's module lacks.
func TestModuleFor(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		mod      string // existing go.mod; "": none
		checkout string
		want     newModule
		err      string
	}{
		{"mine", "", repo, newModule{path: "example.com/mine", from: origin{checkout: repo}}, ""},
		{"mine", "module there\n", repo, newModule{needs: true, from: origin{checkout: repo}}, ""},
		{"mine", "module there\n", "nowhere", newModule{}, "nowhere is no checkout of"},
		{"mine", "module there\nrequire " + project.ThisModule + " v0.1.0\n", "nowhere", newModule{}, ""},
		{"mïne", "", repo, newModule{}, "cannot be part of the path of a Go module"},
	} {
		dir := t.TempDir()
		if c.mod != "" {
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(c.mod), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := moduleFor(dir, c.name, c.checkout)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s beside %q: %v, want %s", c.name, c.mod, err, c.err)
			}
			continue
		}
		c.want.dir = dir
		if err != nil || *got != c.want {
			t.Errorf("%s beside %q: %+v, %v, want %+v", c.name, c.mod, got, err, c.want)
		}
	}
}

// TestGoMod wants exactly the requirements of the checkout.
func TestGoMod(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &newModule{path: "example.com/mine", from: origin{checkout: "/some where"}}
	made, err := m.goMod(theirs)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := modfile.Parse("go.mod", made, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, made)
	}
	if !project.Requires(made, project.ThisModule) || project.Requires(made, "example.com/other") || ours.Module.Mod.Path != m.path ||
		ours.Replace[0].New.Path != "/some where" || len(ours.Require) != len(theirs.Require)+1 {
		t.Errorf("%s", made)
	}
}

// TestReleasedModule uses a fake go command that records its arguments.
func TestReleasedModule(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for the go command is a shell script")
	}
	bin, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\necho \"$@\" > called\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	m := &newModule{dir: dir, path: "example.com/mine", from: origin{version: "v0.1.0"}}
	if err := m.write(sh); err != nil {
		t.Fatal(err)
	}
	called, _ := os.ReadFile(filepath.Join(dir, "called"))
	text, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
	if string(called) != "get github.com/arithlang/mlc/runtime@v0.1.0\n" || modfile.ModulePath(text) != m.path {
		t.Errorf("called go %s, with the module\n%s", called, text)
	}
	t.Setenv("PATH", t.TempDir())
	if err := m.write(sh); !errors.Is(err, errNoGo) {
		t.Errorf("without go: %v", err)
	}
}
