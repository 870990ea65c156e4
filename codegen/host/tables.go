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
	leaves := tableLeaves(spec)
	if len(leaves) == 0 {
		return nil
	}
	out := []byte(header)
	for _, leaf := range leaves {
		out, _ = binary.Append(out, binary.LittleEndian, leaf.Values) // of a slice of float32 it cannot fail
	}
	return out
}

// Given are the elements of each table by the name of the parameter that has them.
func Given(spec *check.Spec) map[string][]float32 {
	given := map[string][]float32{}
	for _, leaf := range tableLeaves(spec) {
		given[fixedName(leaf)] = leaf.Values
	}
	return given
}

// tableLeaves are the leaves that a file gives.
func tableLeaves(spec *check.Spec) []check.Leaf {
	var out []check.Leaf
	for _, leaf := range spec.Given() {
		if leaf.Init.Kind == "file" {
			out = append(out, leaf)
		}
	}
	return out
}

// tables prints the tables of a model and the file that holds them, of which the
// last elements are the tables; nil if there are none.
func (t Trainer) tables(f *jen.File) *jen.Statement {
	leaves := tableLeaves(t.Spec)
	if len(leaves) == 0 {
		return nil
	}
	f.Comment("//go:embed " + TableFile)
	f.Var().Id("tableText").String()
	at := 0
	for _, leaf := range leaves {
		at += 4 * len(leaf.Values)
	}
	end := func(n int) *jen.Statement { return jen.Len(jen.Id("tableText")).Op("-").Lit(n) }
	return jen.Index().Qual(runtimePath, "Table").ValuesFunc(func(g *jen.Group) {
		for _, leaf := range leaves {
			from := end(at)
			at -= 4 * len(leaf.Values)
			part := jen.Id("tableText").Index(from, end(at))
			g.Line().Values(jen.Dict{jen.Id("Param"): jen.Lit(fixedName(leaf)), jen.Id("Values"): part})
		}
		g.Line()
	})
}

// fixedName is the name of a fixed leaf among the parameters of a model.
func fixedName(leaf check.Leaf) string { return plan.Fixed + "." + leaf.Name }
