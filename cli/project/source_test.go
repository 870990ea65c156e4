package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file below a folder.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFindSource names specs of the project from its root, and others as the user did.
func TestFindSource(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	put(t, root, "specs/a.arith", "arith 2\n")
	t.Chdir(filepath.Join(root, "specs"))
	for file, want := range map[string]Source{
		"a.arith":                         {Base: root, Name: "specs/a.arith"},
		"../b.arith":                      {Base: root, Name: "b.arith"},
		filepath.Join(root, "c.arith"):    {Base: root, Name: "c.arith"},
		filepath.Join(outside, "x.arith"): {Base: filepath.Join(root, "specs"), Name: filepath.ToSlash(filepath.Join(outside, "x.arith"))},
		"../../" + filepath.Base(outside): {Base: filepath.Join(root, "specs"), Name: "../../" + filepath.Base(outside)},
		"./../specs//a.arith":             {Base: root, Name: "specs/a.arith"},
	} {
		if got, err := FindSource(file, root); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", file, got, err, want)
		}
	}
	if _, err := FindSource("a\nb.arith", root); err == nil || !strings.Contains(err.Error(), "control character") {
		t.Errorf("a name of two lines: %v", err)
	}
	s := Source{Base: root, Name: "specs/a.arith"}
	for name, want := range map[string]string{"specs/a.arith": filepath.Join(root, "specs", "a.arith"), "/x/y": filepath.FromSlash("/x/y")} {
		if got := s.Path(name); got != want {
			t.Errorf("%s is at %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"": "", "--set": "--set", "specs/a.arith": "a.arith"} {
		if got := s.Shown(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

// TestQuote shows lines only of files below the spec or the project.
func TestQuote(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	put(t, root, "specs/a.arith", "arith 2\n")
	inside, run := put(t, root, "b.arith", "b\n"), put(t, root, "run/spec.arith", "c\n")
	secret := put(t, outside, "secret", "s\n")
	link := filepath.Join(root, "link.arith")
	if err := os.Symlink(secret, link); err != nil {
		t.Skip(err)
	}
	t.Chdir(root)
	project := Source{Base: root, Name: "specs/a.arith"}
	ofRun := Source{Base: root, Name: "run/spec.arith", run: filepath.Join(root, "run")}
	for _, c := range []struct {
		s     Source
		path  string
		shown bool
	}{
		{project, "specs/a.arith", true}, {project, inside, true}, {project, secret, false}, {project, link, false}, {project, "missing", false},
		{ofRun, run, true}, {ofRun, inside, false}, {ofRun, "specs/a.arith", false}, {ofRun, secret, false},
	} {
		text, err := c.s.quote(c.path)
		if (err == nil) != c.shown || c.shown && len(text) == 0 {
			t.Errorf("of %s, %s is quoted as %q, %v", c.s.Name, c.path, text, err)
		}
		if err := c.s.include(c.path); (err == nil) != (c.shown || c.s.run == "") {
			t.Errorf("%s includes %s: %v", c.s.Name, c.path, err)
		}
	}
}

// TestFolders finds the module of a folder, and whether it has mlc.
func TestFolders(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		apart bool
	}{
		{"module " + ThisModule + "\n", false}, {"module x\n\nrequire " + ThisModule + " v0.3.0\n", false}, {"module x\n", true}, {"module x\n\nrequire example.com/y v1.0.0\n", true}, {"not a module", true},
	} {
		put(t, root, "go.mod", c.text)
		t.Chdir(deep)
		p, err := Find("", "")
		if err != nil || p.Root != root || p.Apart != c.apart || p.Programs != filepath.Join(root, "generated") || p.Binaries != filepath.Join(root, "bin") {
			t.Errorf("%q: %+v, %v", c.text, p, err)
		}
		if p, err = Find("x", "y"); err != nil || p.Programs != filepath.Join(deep, "x") || p.Binaries != filepath.Join(deep, "y") {
			t.Errorf("with folders: %+v, %v", p, err)
		}
	}
	if ModuleRoot(filepath.Join(deep, "..")) != root || HasRuntime("") {
		t.Error("the folder of a module is not found, or found outside of one")
	}
}
