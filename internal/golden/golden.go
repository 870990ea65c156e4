// Package golden compares what tests compute with committed files, which -update rewrites. Only
// tests import the package.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

// Updating reports whether -update is set.
func Updating() bool { return *update }

// Compare compares a file with the text that it should have now. With -update it writes the file.
func Compare(t testing.TB, file, now string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v (-update writes it)", err)
	} else if string(kept) != now {
		t.Errorf("%s (-kept +now; -update rewrites it):\n%s", file, difference(string(kept), now))
	}
}

// Archives runs a test of each txtar archive that matches pattern. It compares the archive with
// what run makes of it.
func Archives(t *testing.T, pattern string, run func(t *testing.T, a *txtar.Archive)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Files) == 0 {
				t.Fatalf("%s has no files: %v", file, err)
			}
			run(t, a)
			Compare(t, file, string(txtar.Format(a)))
		})
	}
}

// difference returns the lines that differ, of archives below the names of their files.
func difference(kept, now string) string {
	before, after := parts(kept), parts(now)
	same := func(name string, _ []string) bool { return slices.Equal(before[name], after[name]) }
	if diff := cmp.Diff(before, after, cmpopts.IgnoreMapEntries(same)); diff != "" {
		return diff
	}
	return cmp.Diff(strings.Split(kept, "\n"), strings.Split(now, "\n")) // in the order of files, or the end
}

// parts returns the lines of the files of an archive. A text that is no archive is one part.
func parts(text string) map[string][]string {
	a := txtar.Parse([]byte(text))
	all := map[string][]string{"": strings.Split(string(a.Comment), "\n")}
	for _, f := range a.Files {
		all[f.Name] = strings.Split(string(f.Data), "\n")
	}
	return all
}
