package gocode

import (
	"testing"

	"github.com/dave/jennifer/jen"
)

// TestImports wants imports for declarations and embed, not for text in comments and strings.
func TestImports(t *testing.T) {
	f := File{Package: "p", Doc: "Package p is device.Env."}
	f.Embed("text", "spec.arith")
	f.Add(jen.Comment("task.Config is no import."))
	f.Add(jen.Var().List(jen.Id("a"), jen.Id("b")).Op("=").
		List(jen.Qual("math", "Pi"), jen.Lit("train.Config").Op("+").Add(Package("example.com/own").Qual("Name"))))
	f.Add(jen.Comment("f does nothing."), jen.Func().Id("f").Params().Block())
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

// f does nothing.
func f() {}
`
	if got, err := f.Format(); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestOwnNames wants no import of the package itself.
func TestOwnNames(t *testing.T) {
	f := File{Package: "device", Path: Device, Header: "Code generated.", Build: "!arm64"}
	f.Add(jen.Func().Id("f").Params(Device.Qual("Env")).Block())
	want := "// Code generated.\n\n//go:build !arm64\n\npackage device\n\nfunc f(Env) {}\n"
	if got, err := f.Format(); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestFormatFails wants an error to name the invalid package.
func TestFormatFails(t *testing.T) {
	f := File{Package: "broken"}
	f.Add(jen.Id("func"))
	if _, err := f.Format(); err == nil {
		t.Error("a file that is no Go is printed")
	}
}
