package host

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/arithlang/mlc/codegen/gotext"
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

// tables adds the tables of a model to its fields, and embeds the file that holds them,
// of which the last elements are the tables.
func (t Trainer) tables(f *gotext.Text, fields gotext.Fields) {
	params, at := tableParams(t.Spec), 0
	if len(params) == 0 {
		return
	}
	f.Embed("tableText", TableFile)
	for _, param := range params {
		at += 4 * len(param.Values)
	}
	var tables []string
	for _, param := range params {
		from, to := at, at-4*len(param.Values)
		values := fmt.Sprintf("tableText[len(tableText)-%d:len(tableText)-%d]", from, to)
		tables = append(tables, gotext.Fields{"Param": strconv.Quote(fixedName(param)), "Values": values}.String())
		at = to
	}
	fields["Given"] = "[]runtime.Table" + gotext.Lines(tables)
}

// fixedName is the name of a fixed parameter among the parameters of a model.
func fixedName(param check.BiasParam) string { return plan.Fixed + "." + param.Name }
