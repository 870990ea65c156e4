// Command docgen writes what is documented by the compiler's own tables:
// docs/spec.md from the schema, the prelude and the words of expressions,
// docs/codes.md from the table of codes, docs/cli.md from the command lines, and
// the syntax colors of editors. It comes after packages dsl, check, cli and
// runtime, whose tables and help it prints.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ..

// A page is a generated file and what makes it.
type page struct {
	name string
	text func() string
}

func pages() []page {
	return []page{{"spec.md", specPage}, {"codes.md", codesPage}, {"cli.md", commandPage}, {"editor/arith.tmLanguage.json", grammarPage}}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docgen FOLDER")
		os.Exit(2)
	}
	for _, p := range pages() {
		if err := os.WriteFile(filepath.Join(os.Args[1], p.name), []byte(p.text()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
