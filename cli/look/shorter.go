package look

import (
	"context"
	"io/fs"
	"regexp"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/record"
)

// Shorter is a resolved spec without what it would say anyway: each line is left out without
// which it resolves to the same. It is "" of a text that is no spec of this version, and of one
// that needs another file.
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

// blank are blank lines behind the beginning of a block and behind others.
var blank = regexp.MustCompile(`(\{\n|\n\n)\n+`)
