package gotext

import "testing"

// TestImports wants what declarations name and embed, and nothing of prose and texts.
func TestImports(t *testing.T) {
	f := File{Package: "p", Doc: "Package p is device.Env.", Imports: []string{"example.com/own"}, Decls: `
//go:embed spec.arith
var text string

// task.Config is no import.
var a, b = math.Pi, "train.Config" + own.Name
`}
	want := `// Package p is device.Env.
package p

import (
	_ "embed"
	"example.com/own"
	"math"
)

//go:embed spec.arith
var text string

// task.Config is no import.
var a, b = math.Pi, "train.Config" + own.Name
`
	if got, err := f.Format(); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
