package check

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
)

// A before is the previous training of a sweep, which differs from this one in a few
// settings. Most of its values and expressions are valid here, too.
type before struct {
	*checker
	changed []string
}

// before compares a checker with the settings of the next training. It returns nil if c
// is nil or has errors.
func (c *checker) before(next *merged) *before {
	if c == nil || c.list.HasErrors() {
		return nil
	}
	b := &before{checker: c}
	for path, s := range next.settings {
		if c.settings[path] != s {
			b.changed = append(b.changed, path)
		}
	}
	for path := range c.settings {
		if next.settings[path] == nil {
			b.changed = append(b.changed, path)
		}
	}
	return b
}

// changes reports whether a changed setting's path begins with one of the prefixes.
func (b *before) changes(prefixes ...string) bool {
	return slices.ContainsFunc(b.changed, func(path string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) })
	})
}

// keeps reports whether an attribute still has its earlier value. Values may depend on
// width and heads.
func (b *before) keeps(c *checker, row *dsl.Row) bool {
	return b != nil && b.kind == c.kind && b.looped() == c.looped() && row.Unless == "" && !strings.HasPrefix(row.Default, "=") &&
		!b.changes(row.Path, "model.width", "model.heads")
}

// keepsExpressions reports whether definitions and attention are unchanged.
func (b *before) keepsExpressions(c *checker) bool {
	return b != nil && b.looped() == c.looped() && !b.changes("bias.", "mask.", "table.", "model.width", "model.heads", "model.head_width", "model.dropout", "model.embed.token", "model.embed.position", "model.output",
		"model.decoder_only.self.", "model.encoder.self.", "model.decoder.self.", "model.decoder.cross.")
}
