package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are the Markdown files of the repository, by their paths.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "generated", "bin", "runs"}, d.Name())):
			return filepath.SkipDir
		case path.Ext(file) == ".md":
			text, err := os.ReadFile(file)
			found[filepath.ToSlash(file)] = string(text)
			return err
		}
		return nil
	})
	if err != nil || len(found) < 30 {
		t.Fatalf("%d documents: %v", len(found), err)
	}
	return found
}

// TestNamedFilesExist looks for the files that documents for contributors name.
func TestNamedFilesExist(t *testing.T) {
	file := regexp.MustCompile("`([a-z0-9_/]+/[a-z0-9_]+\\.(?:go|md|txtar))`")
	for page, text := range documents(t) {
		if page != "ARCHITECTURE.md" && page != "CONTRIBUTING.md" && path.Dir(page) != "docs/decisions" {
			continue
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}

// TestReadmeIsShort keeps the README to a hundred lines: more has a page in docs.
func TestReadmeIsShort(t *testing.T) {
	if lines := strings.Count(documents(t)["README.md"], "\n"); lines > 100 {
		t.Errorf("README.md has %d lines, at most 100 are allowed", lines)
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	span    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unsaid  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows the links of all documents to files, and to headings within them.
func TestLinks(t *testing.T) {
	all := documents(t)
	anchors := map[string]bool{}
	for page, text := range all {
		for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			anchors[page+"#"+strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
		}
	}
	links := 0
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, within := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if within && all[target] != "" && !anchors[target+"#"+anchor] {
				t.Errorf("%s: %s has no heading #%s", page, target, anchor)
			}
		}
	}
	if links < 50 {
		t.Errorf("there are only %d links", links)
	}
}
