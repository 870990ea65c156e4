package look

import (
	"context"
	"io/fs"
	"regexp"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/record"
)

// Shorter returns a resolved spec without its defaults: it removes each line without which
// the spec resolves to the same. It returns "" for a text that is not a spec of this
// version, and for a spec that needs another file. If ctx ends, the result is only partly
// shortened.
func Shorter(ctx context.Context, text string) string {
	resolved := func(text string) string {
		spec, found := check.Resolve(check.Options{Path: record.SpecFile, Read: func(path string) ([]byte, error) {
			if path == record.SpecFile {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}})
		if found.HasErrors() || spec == nil {
			return ""
		}
		return spec.Resolved
	}
	want := resolved(text)
	if want == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	try := func(from, to int) bool {
		without := append(lines[:from:from], lines[to:]...)
		if resolved(strings.Join(without, "\n")+"\n") != want {
			return false
		}
		lines = without
		return true
	}
	for i := len(lines) - 1; i >= 0 && ctx.Err() == nil; i-- {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(line, "//"):
			lines = append(lines[:i:i], lines[i+1:]...)
		case line == "" && i+1 < len(lines) && strings.TrimSpace(lines[i+1]) == "}":
			lines = append(lines[:i:i], lines[i+1:]...)
		case strings.HasSuffix(line, "{"):
			if end := i + 1; end < len(lines) && strings.TrimSpace(lines[end]) == "}" {
				try(i, end+1)
			}
		case line != "" && line != "}":
			try(i, i+1)
		}
	}
	return blank.ReplaceAllString(strings.Join(lines, "\n")+"\n", "$1")
}

// blank matches superfluous blank lines: at the beginning of a block, and after another
// blank line.
var blank = regexp.MustCompile(`(\{\n|\n\n)\n+`)
