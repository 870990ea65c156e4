package diag

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"
)

// A Code documents one kind of diagnostic. Codes are stable. A line in an example that
// begins with "--set" is a command-line option.
type Code struct {
	ID     string // E01xx syntax, E02xx names and values, E03xx consistency, E04xx not compiled yet, V0xx warnings
	Name   string // of a warning, as the spec switches it off; "": an error
	Title  string
	Doc    string // one paragraph
	Broken string // a spec, example.arith, with only this finding
	Mended string // the same spec without the finding
}

// pages has a file for each code: the title, for a warning after its name and a colon, the paragraph, and the two specs.
//
//go:embed codes
var pages embed.FS

// Codes returns the documentation of all codes in order.
func Codes() []Code { return slices.Clone(codes()) }

var codes = sync.OnceValue(func() []Code {
	files, err := pages.ReadDir("codes")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var all []Code
	for _, f := range files {
		src, err := pages.ReadFile("codes/" + f.Name())
		if err == nil {
			var c Code
			c, err = parseCode(strings.TrimSuffix(f.Name(), ".txt"), src)
			all = append(all, c)
		}
		if err != nil {
			panic(fmt.Sprintf("BUG: %s: %v", f.Name(), err))
		}
	}
	return all
})

// parseCode reads the page of a code.
func parseCode(id string, page []byte) (Code, error) {
	a := txtar.Parse(page)
	title, doc, _ := strings.Cut(string(a.Comment), "\n\n")
	name := ""
	if strings.HasPrefix(id, "V") {
		name, title, _ = strings.Cut(title, ": ")
	}
	doc = strings.Join(strings.Fields(doc), " ")
	if title == "" || doc == "" || len(a.Files) != 2 || a.Files[0].Name != "broken" || a.Files[1].Name != "mended" {
		return Code{}, fmt.Errorf("want a title, a paragraph, and the files broken and mended")
	}
	return Code{id, name, title, doc, string(a.Files[0].Data), string(a.Files[1].Data)}, nil
}

// Label returns the code as findings print it: with the name of a warning.
func (c Code) Label() string { return strings.TrimSuffix(c.ID+" "+c.Name, " ") }

// Named returns a code by its ID or by the name of a warning, and whether it exists.
func Named(text string) (Code, bool) {
	for _, c := range codes() {
		if c.Name == text && text != "" {
			return c, true
		}
	}
	return Lookup(text)
}

// Lookup returns a code by its ID, and whether it exists.
func Lookup(id string) (Code, bool) {
	i, found := slices.BinarySearchFunc(codes(), id, func(c Code, id string) int { return strings.Compare(c.ID, id) })
	if !found {
		return Code{}, false
	}
	return codes()[i], true
}
