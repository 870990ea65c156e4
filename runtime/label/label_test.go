package label

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/damage"
)

// TestAdd adds labels to a run that has none, and to one that has one.
func TestAdd(t *testing.T) {
	dir := t.TempDir()
	if err := new(Label).Add(dir); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("an empty label has made %v", files)
	}
	for _, add := range []Label{
		{Name: "first", Tags: []string{"a", "b"}, Note: "one\ntwo"},
		{Tags: []string{"b", "c"}},
		{Name: "second"},
	} {
		if err := add.Add(dir); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Of(damage.At(dir))
	if want := (Label{"second", []string{"a", "b", "c"}, "one\ntwo"}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%+v, want %+v: %v", got, want, err)
	}
	path := filepath.Join(dir, File)
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "second", "other", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Of(damage.At(dir)); !damage.Is(err) {
		t.Errorf("a changed file: %v", err)
	}
	if err := (&Label{Name: "third"}).Add(dir); !damage.Is(err) {
		t.Errorf("adding to a changed file: %v", err)
	}
}

// TestCheck refuses what a list could not show.
func TestCheck(t *testing.T) {
	for _, ok := range []Label{{}, {Name: "größer als 3, ohne Maske"}, {Tags: []string{"width=32", "№5"}}, {Note: "two\nlines"}, {Name: strings.Repeat("x", 100)}} {
		if err := ok.Check(); err != nil {
			t.Errorf("%+v: %v", ok, err)
		}
	}
	for want, bad := range map[string]Label{
		"--name": {Name: "two\nlines"}, "--name \"": {Name: strings.Repeat("x", 101)}, "--tag \"\"": {Tags: []string{"a", ""}},
		"without spaces": {Tags: []string{"a b"}}, "commas": {Tags: []string{"a,b"}}, "--tag \"a\\n": {Tags: []string{"a\n"}},
		"at most 100": {Tags: []string{strings.Repeat("x", 101)}}, "--note": {Note: "\x1b[2J"}, "4000": {Note: strings.Repeat("x", 4001)},
	} {
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q, %.20q, %.20q: %v, want %q", bad.Name, bad.Tags, bad.Note, err, want)
		}
	}
}
