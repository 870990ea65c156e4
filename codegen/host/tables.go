package host

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/arithlang/mlc/codegen/gotext"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
)

// The names of the files of what a program embeds beside its spec: what biases read of
// tables, and the problems that a task reads.
const (
	TableFile   = "tables.bin"
	ProblemFile = "problems.txt"
	TestFile    = "tests.txt"
)

// DataFiles are those files that a spec needs, by name: the header, by which they are
// known for generated, then the elements of each table as float32, little endian, or the
// problems.
func DataFiles(spec *check.Spec, header string) map[string][]byte {
	files := map[string][]byte{}
	if params := tableParams(spec); len(params) > 0 {
		data := []byte(header)
		for _, param := range params {
			data, _ = binary.Append(data, binary.LittleEndian, param.Values) // of a slice of float32 it cannot fail
		}
		files[TableFile] = data
	}
	for name, p := range map[string]*check.Problems{ProblemFile: spec.Task.File, TestFile: spec.Task.TestFile} {
		if p != nil {
			files[name] = []byte(header + p.Text)
		}
	}
	return files
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

// files adds the files that the spec reads to the fields of a model.
func (t Trainer) files(fields gotext.Fields) {
	var files []string
	for _, file := range t.Spec.Files() {
		of := gotext.FieldsOf(struct{ Path, Stage string }{file.Path, file.Stage})
		switch {
		case file.Problems != nil && file.Problems == t.Spec.Task.File:
			of["Text"] = problemsIn("problemText", file.Problems.Text)
		case file.Problems != nil:
			of["Text"] = problemsIn("testText", file.Problems.Text)
		}
		var tensors []string
		for _, param := range file.Tables {
			tensors = append(tensors, gotext.Fields{"Name": strconv.Quote(param.Tensor), "Shape": gotext.Literal(param.Shape), "Param": strconv.Quote(fixedName(param))}.String())
		}
		if tensors != nil {
			of["Tensors"] = "[]runtime.Tensor" + gotext.Lines(tensors)
		}
		files = append(files, of.String())
	}
	if files != nil {
		fields["Files"] = "[]runtime.File" + gotext.Lines(files)
	}
}

// problemsIn is the problems that a variable ends with.
func problemsIn(variable, problems string) string {
	return fmt.Sprintf("%s[len(%[1]s)-%d:]", variable, len(problems))
}

// fixedName is the name of a fixed parameter among the parameters of a model.
func fixedName(param check.BiasParam) string { return plan.Fixed + "." + param.Name }
