package host

import (
	"encoding/binary"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
)

// TableFile is the name of the file of what a spec reads of tables.
const TableFile = "tables.bin"

// Tables is that file: the header, by which it is known for generated, then the
// elements of each table as float32, little endian; nil without tables.
func Tables(spec *check.Spec, header string) []byte {
	params := tableParams(spec)
	if len(params) == 0 {
		return nil
	}
	out := []byte(header)
	for _, param := range params {
		out, _ = binary.Append(out, binary.LittleEndian, param.Values) // of a slice of float32 it cannot fail
	}
	return out
}

// Given are the elements of each table by the name of the parameter that has them.
func Given(spec *check.Spec) map[string][]float32 {
	given := map[string][]float32{}
	for _, param := range tableParams(spec) {
		given[fixedName(param)] = param.Values
	}
	return given
}

// tableParams are the parameters that a file gives.
func tableParams(spec *check.Spec) []check.BiasParam {
	var out []check.BiasParam
	for _, param := range spec.Given() {
		if param.Init.Kind == "file" {
			out = append(out, param)
		}
	}
	return out
}

// tables prints the tables of a model and the file that holds them, of which the
// last elements are the tables; nil if there are none.
func (t Trainer) tables(f *jen.File) *jen.Statement {
	params := tableParams(t.Spec)
	if len(params) == 0 {
		return nil
	}
	text, at := embed(f, "tableText", TableFile), 0
	for _, param := range params {
		at += 4 * len(param.Values)
	}
	end := func(n int) *jen.Statement { return jen.Len(text).Op("-").Lit(n) }
	return jen.Index().Qual(runtimePath, "Table").ValuesFunc(func(g *jen.Group) {
		for _, param := range params {
			from := end(at)
			at -= 4 * len(param.Values)
			part := text.Clone().Index(from, end(at))
			g.Line().Values(jen.Dict{jen.Id("Param"): jen.Lit(fixedName(param)), jen.Id("Values"): part})
		}
		g.Line()
	})
}

// fixedName is the name of a fixed parameter among the parameters of a model.
func fixedName(param check.BiasParam) string { return plan.Fixed + "." + param.Name }
