package check

import (
	"path"
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// setFile stands for the command line in places; the line is the number of the
// --set.
const setFile = "--set"

// Bounds on includes, against files that include each other many times over.
const (
	maxIncludeDepth = 32
	maxIncludes     = 1024
)

// load merges a file: what it includes, the bodies of its includes, then its own
// entries. The files that led to it are in stack; at is where it was asked for.
func (c *checker) load(file string, stack []string, at diag.Range) {
	file = path.Clean(file)
	if c.loads++; c.loads > maxIncludes || len(stack) >= maxIncludeDepth {
		c.report("E0108", at, "too many includes: more than %d files or %d deep", maxIncludes, maxIncludeDepth).
			WithHelp("include each file once")
		c.unparsed = true
		return
	}
	if slices.Contains(stack, file) {
		c.report("E0108", at, "%s includes itself", file).WithHelp("the chain is %s", strings.Join(append(stack, file), " -> "))
		c.unparsed = true
		return
	}
	src, err := c.read(file)
	if err != nil {
		d := c.report("E0107", at, "cannot read %s", file)
		if _, wrong := c.read(file + ".arith"); wrong == nil {
			d.WithHelp("there is a %s.arith: name that", path.Base(file))
		} else {
			d.WithHelp("%v", err)
		}
		c.unparsed = true
		return
	}
	tree, list := dsl.Parse(file, src)
	c.list = append(c.list, list...)
	c.unparsed = c.unparsed || list.HasErrors()
	if tree == nil {
		return
	}
	var own []*dsl.Entry
	for _, e := range tree.Entries {
		if e.Include == nil {
			own = append(own, e)
			continue
		}
		c.include(e, append(stack[:len(stack):len(stack)], file))
	}
	c.body(own)
}

// include merges what an include names and then the include's own body. The files
// that led to it are in chain.
func (c *checker) include(e *dsl.Entry, chain []string) {
	name := e.Include.File
	target := beside(name.Range.Start.File, name.Text)
	c.written.include(name.Range, target)
	if _, ok := c.included[target]; !ok && !slices.Contains(chain, target) {
		c.included[target] = e.Range.Start
	}
	if c.refuse != nil {
		if err := c.refuse(target); err != nil {
			c.report("E0107", name.Range, "cannot include %s", target).WithHelp("%v", err)
			c.unparsed = true
			return
		}
	}
	c.load(target, chain, name.Range)
	c.body(e.Include.Body)
}

// override applies the --set options.
func (c *checker) override() {
	for n, text := range c.sets {
		e, list := dsl.ParseSetting(setFile, n+1, text)
		c.list = append(c.list, list...)
		c.unparsed = c.unparsed || list.HasErrors()
		if e != nil {
			c.body([]*dsl.Entry{e})
			c.pin(pathOf(e))
		}
	}
}

// body merges the entries of one file or of one include's body, in which nothing
// may be set twice.
func (c *checker) body(entries []*dsl.Entry) {
	m := &merger{checker: c, seen: make(map[string]diag.Range)}
	m.entries("", entries)
}

// pathOf is the full path of an entry at the top.
func pathOf(e *dsl.Entry) string {
	names := make([]string, len(e.Path))
	for i, id := range e.Path {
		names[i] = id.Name
	}
	return strings.Join(names, ".")
}

// beside is the path of a file that another one names, relative to itself or whole.
func beside(from, name string) string {
	if rooted(name) {
		return path.Clean(name)
	}
	return path.Join(path.Dir(from), name)
}

// rooted says whether a path stands for itself, as one of Windows does that begins with a drive.
func rooted(name string) bool {
	drive := len(name) > 2 && name[1] == ':' && name[2] == '/' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
	return path.IsAbs(name) || drive
}
