package bundle

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestVersions compares the versions of the bundled modules with go.mod.
func TestVersions(t *testing.T) {
	files, err := Files(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	bundled, err := modfile.Parse("go.mod", files["go.mod"], nil)
	if err != nil {
		t.Fatal(err)
	}
	if ours.Module.Mod.Path != bundled.Module.Mod.Path || ours.Go.Version != bundled.Go.Version {
		t.Errorf("module %s of go %s, want %s of go %s", bundled.Module.Mod.Path, bundled.Go.Version, ours.Module.Mod.Path, ours.Go.Version)
	}
	versions := map[string]string{}
	for _, r := range ours.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range bundled.Require {
		if versions[r.Mod.Path] != r.Mod.Version {
			t.Errorf("%s %s: go.mod has %s; run go generate ./compiler/bundle", r.Mod.Path, r.Mod.Version, versions[r.Mod.Path])
		}
		if !bytes.Contains(files["vendor/modules.txt"], []byte("# "+r.Mod.Path+" "+r.Mod.Version+"\n")) {
			t.Errorf("vendor/modules.txt lacks %s", r.Mod)
		}
	}
}

// TestFiles: the bundle has the sources of the runtime, without tests and packages that
// only mlc needs.
func TestFiles(t *testing.T) {
	files, err := Files(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "runtime/main.go", "runtime/cuda/hold.ptx", "runtime/cpu/kernels_amd64.s", "vendor/github.com/alecthomas/kong/COPYING"} {
		if len(files[name]) == 0 {
			t.Errorf("no %s", name)
		}
	}
	for name := range files {
		if strings.Contains(name, "testdata") || strings.HasSuffix(name, "_test.go") || bytes.Contains(files[name], []byte(`"github.com/arithlang/mlc/ptxsim`)) {
			t.Error(name)
		}
	}
	changed := maps.Clone(files)
	changed["runtime/main.go"] = bytes.ToUpper(files["runtime/main.go"])
	if Key(files) != Key(maps.Clone(files)) || Key(files) == Key(changed) {
		t.Error("keys do not tell files apart")
	}
	if _, err := Files(os.DirFS("testdata")); err == nil {
		t.Error("no error without a runtime")
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
