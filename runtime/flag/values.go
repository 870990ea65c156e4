package flag

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// ShowValues makes a parser's help and messages show the values of flags and arguments with a
// fixed choice, as in --to=python|numpy. A default follows the description.
func ShowValues(parser *kong.Kong) {
	show := func(node kong.Visitable, next kong.Next) error {
		switch n := node.(type) {
		case *kong.Flag:
			if values := values(n.Value); values != "" {
				n.PlaceHolder = values
				if n.Default != "" {
					n.Help += " Default: " + n.Default + "."
				}
			}
		case *kong.Value:
			if values := values(n); n.Flag == nil && values != "" {
				n.Name = values
			}
		}
		return next(nil)
	}
	if err := kong.Visit(parser.Model, show); err != nil {
		panic("BUG: " + err.Error())
	}
}

// values lists the choice of a value; "" for any value.
func values(v *kong.Value) string {
	var words []string
	if v.Enum != "" {
		for _, w := range v.EnumSlice() {
			if w != "" { // a flag that is not given
				words = append(words, w)
			}
		}
	}
	return strings.Join(words, "|")
}

// Verb returns the part of a command line that has its own help: the program's name, which
// comes first, and the verb.
func Verb(parser *kong.Kong, args []string) string {
	words, verb := args[:1:1], parser.Model.Node
	for _, w := range args[1:] {
		i := slices.IndexFunc(verb.Children, func(n *kong.Node) bool { return n.Name == w && !n.Hidden })
		if i < 0 {
			continue
		}
		words, verb = append(words, w), verb.Children[i]
	}
	return strings.Join(words, " ")
}
