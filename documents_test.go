package main

import (
	"os"
	"regexp"
	"testing"
)

// TestNamedFilesExist looks for the files that documents for contributors name.
func TestNamedFilesExist(t *testing.T) {
	file := regexp.MustCompile("`([a-z0-9_/]+/[a-z0-9_]+\\.(?:go|md|txtar))`")
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "RATIONALE.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range file.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}
