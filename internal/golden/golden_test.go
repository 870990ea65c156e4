package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// A recorder is a test that keeps its errors.
type recorder struct {
	testing.TB
	errors string
}

func (r *recorder) Error(args ...any)                 { r.errors += fmt.Sprintln(args...) }
func (r *recorder) Errorf(format string, args ...any) { r.errors += fmt.Sprintf(format, args...) }

// TestCompare compares texts with files, also after -update.
func TestCompare(t *testing.T) {
	defer func(was bool) { *update = was }(*update)
	dir := t.TempDir()
	for _, c := range []struct {
		name, kept, now string
		want            []string // parts of the message
	}{
		{"equal", "a\nb\n", "a\nb\n", nil},
		{"absent", "", "a\n", []string{"absent", "no such file", "-update writes it"}},
		{"line", "a\nb\nc\n", "a\nB\nc\n", []string{"line (-kept +now; -update rewrites it)", `"b"`, `"B"`}},
		{"end", "a\nb\n", "a\nb", []string{`""`}},
		{"archive", "-- x --\na\n-- y --\nb\n", "-- x --\na\n-- y --\nB\n", []string{`"y"`, `"b"`, `"B"`, "ignored"}},
		{"order", "-- x --\na\n-- y --\nb\n", "-- y --\nb\n-- x --\na\n", []string{`"-- x --"`}},
		{"no/folder", "", "a\n", []string{"no such file"}},
	} {
		file := filepath.Join(dir, c.name)
		if c.kept != "" {
			if err := os.WriteFile(file, []byte(c.kept), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		*update = false
		r := &recorder{TB: t}
		Compare(r, file, c.now)
		for _, part := range c.want {
			if !strings.Contains(r.errors, part) {
				t.Errorf("%s: %q is not in the message:\n%s", c.name, part, r.errors)
			}
		}
		if (r.errors != "") != (c.want != nil) {
			t.Errorf("%s: the message is\n%s", c.name, r.errors)
		}
		*update, r.errors = true, ""
		Compare(r, file, c.now)
		text, err := os.ReadFile(file)
		if written := err == nil && string(text) == c.now; written != (r.errors == "") || written == (c.name == "no/folder") {
			t.Errorf("%s: -update leaves %q (%v) and says %q", c.name, text, err, r.errors)
		}
	}
}

// TestArchives rewrites an archive as a test changes it.
func TestArchives(t *testing.T) {
	defer func(was bool) { *update = was }(*update)
	*update = true
	file := filepath.Join(t.TempDir(), "a.txtar")
	if err := os.WriteFile(file, []byte("-- in --\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	Archives(t, file, func(t *testing.T, a *txtar.Archive) {
		a.Files = append(a.Files, txtar.File{Name: "out", Data: []byte("2\n")})
	})
	if text, err := os.ReadFile(file); err != nil || string(text) != "-- in --\n1\n-- out --\n2\n" {
		t.Errorf("%q, %v", text, err)
	}
}
