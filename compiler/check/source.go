package check

import (
	"path"
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// setFile is the file name of the command line in diagnostics. The line is the number of
// the --set option.
const setFile = "--set"

// Bounds on includes, for files that include each other many times.
const (
	maxIncludeDepth = 32
	maxIncludes     = 1024
)

// load merges a file: its includes, the bodies of its includes, then its own entries.
// stack holds the files that led to it. at is the place that named it.
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

// include merges the file of an include and then the include's body. chain holds the
// files that led to it.
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

// body merges the entries of one file or of one include's body. Nothing in it may be set
// twice.
func (c *checker) body(entries []*dsl.Entry) {
	m := &merger{checker: c, seen: make(map[string]diag.Range)}
	m.entries("", entries)
}

// pathOf returns the full path of an entry at the top of a file.
func pathOf(e *dsl.Entry) string {
	names := make([]string, len(e.Path))
	for i, id := range e.Path {
		names[i] = id.Name
	}
	return strings.Join(names, ".")
}

// beside returns the path of a file that the file from names. A relative name starts at
// from's directory.
func beside(from, name string) string {
	if rooted(name) {
		return path.Clean(name)
	}
	return path.Join(path.Dir(from), name)
}

// rooted reports whether a path is absolute, also with a Windows drive.
func rooted(name string) bool {
	drive := len(name) > 2 && name[1] == ':' && name[2] == '/' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
	return path.IsAbs(name) || drive
}
