package build

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
)

var (
	// setting matches a setting in backquotes, by its full path.
	setting = regexp.MustCompile("`([a-z_]+(?:\\.[a-z_]+)+ = [^`]+)`")
	// starting matches what the settings of a part change: a starter, or a spec.
	starting = regexp.MustCompile("(?:--from |change the starter `)([a-z0-9]+)|change\\s+`(specs/[a-z0-9_/]+\\.arith)`")
)

// TestComingFrom resolves the spec of each part of docs/coming-from.md with the settings of each of
// its rows. A row without a setting has a command, or says that nothing corresponds.
func TestComingFrom(t *testing.T) {
	page, err := os.ReadFile("../../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	settings := 0
	for _, part := range strings.Split(string(page), "\n## ")[1:] {
		title, _, _ := strings.Cut(part, "\n")
		path, read := beginning(t, title, part)
		if _, list := check.Resolve(check.Options{Path: path, Read: read}); len(list) > 0 {
			t.Errorf("%s: %s: %s", title, path, list[0].Message)
		}
		for line := range strings.Lines(part) {
			const bar = "\x00" // for one that is no border
			cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar), "|")
			if len(cells) < 4 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[2]) == "here" {
				continue
			}
			right := strings.ReplaceAll(strings.TrimSpace(cells[2]), bar, "|")
			var set []string
			for _, m := range setting.FindAllStringSubmatch(right, -1) {
				set = append(set, m[1])
			}
			settings += len(set)
			if len(set) == 0 && !strings.Contains(right, "`mlc ") && !strings.Contains(right, "](") && !strings.HasPrefix(right, "no") && right != "always" && !strings.HasPrefix(right, "the ") {
				t.Errorf("%s: %s says nothing", title, line)
			}
			spec, list := check.Resolve(check.Options{Path: path, Set: set, Read: read})
			if list.HasErrors() {
				t.Errorf("%s: %s: %s", title, right, list[0].Message)
				continue
			}
			for _, d := range check.Lowerable(spec) {
				t.Errorf("%s: %s: %s", title, right, d.Message)
			}
		}
	}
	if settings < 100 {
		t.Errorf("the page has only %d settings", settings)
	}
}

// beginning returns the spec that a part changes, and reads files for it.
func beginning(t *testing.T, title, part string) (path string, read func(string) ([]byte, error)) {
	m := starting.FindStringSubmatch(part)
	if m == nil {
		t.Fatalf("%s: it does not say what its settings change", title)
	}
	if m[2] != "" {
		return filepath.Join("../..", m[2]), os.ReadFile
	}
	for _, s := range starters {
		if s.name != m[1] {
			continue
		}
		files, err := s.files("x")
		if err != nil {
			t.Fatal(err)
		}
		return "x.arith", func(path string) ([]byte, error) {
			if strings.HasSuffix(path, ".txt") {
				return files["x.txt"], nil
			}
			return files[path], nil
		}
	}
	t.Fatalf("%s: there is no starter %s", title, m[1])
	return "", nil
}
