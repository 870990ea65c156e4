// Command mlc compiles specs of small transformers to Go programs that train and
// test them. Package cli has the verbs.
package main

import (
	"embed"

	"github.com/arithlang/mlc/cli"
)

// source holds the packages that trainers are built from.
//
//go:embed runtime
var source embed.FS

func main() { cli.Main(source) }
