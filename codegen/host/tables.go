package host

import (
	"encoding/binary"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
)

// The names of the files that a program embeds in addition to its spec: the tables of biases,
// and the problems of a task.
const (
	TableFile   = "tables.bin"
	ProblemFile = "problems.txt"
	TestFile    = "tests.txt"
)

// DataFiles returns the embedded files that a spec needs, by name. A file starts with the
// header that marks it as generated. Then come the elements of each table as little-endian
// float32, or the problems.
func DataFiles(spec *check.Spec, header string) map[string][]byte {
	files := map[string][]byte{}
	if params := tableParams(spec); len(params) > 0 {
		data := []byte(header)
		for _, param := range params {
			data, _ = binary.Append(data, binary.LittleEndian, param.Values) // cannot fail for []float32
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

// Given returns the elements of each table by the name of its parameter.
func Given(spec *check.Spec) map[string][]float32 {
	given := map[string][]float32{}
	for _, param := range tableParams(spec) {
		given[FixedName(param)] = param.Values
	}
	return given
}

// tableParams returns the parameters whose values a file gives.
func tableParams(spec *check.Spec) []check.BiasParam {
	var out []check.BiasParam
	for _, param := range spec.Given() {
		if param.Init.Kind == "file" {
			out = append(out, param)
		}
	}
	return out
}

// tables adds the tables of a model to its fields, and embeds the file that ends with them.
func (t Trainer) tables(f *gocode.File, fields gocode.Fields) {
	params, at := tableParams(t.Spec), 0
	if len(params) == 0 {
		return
	}
	f.Embed("tableText", TableFile)
	for _, param := range params {
		at += 4 * len(param.Values)
	}
	var tables []jen.Code
	for _, param := range params {
		from, to := at, at-4*len(param.Values)
		values := jen.Id("tableText").Index(beforeEnd("tableText", from), beforeEnd("tableText", to))
		tables = append(tables, gocode.Fields{"Param": FixedName(param), "Values": values}.Code())
		at = to
	}
	fields["Given"] = gocode.Slice(gocode.Program.Qual("Table"), tables)
}

// beforeEnd returns an index that is the given number of bytes before the end of a text.
func beforeEnd(variable string, bytes int) jen.Code {
	return jen.Len(jen.Id(variable)).Op("-").Lit(bytes)
}

// files adds the files that the spec reads to the fields of a model.
func (t Trainer) files(fields gocode.Fields) {
	var files []jen.Code
	for _, file := range t.Spec.Files() {
		var tensors []jen.Code
		for _, param := range file.Tables {
			tensors = append(tensors, gocode.Fields{"Name": param.Tensor, "Shape": param.Shape, "Param": FixedName(param)}.Code())
		}
		of := gocode.Fields{"Path": file.Path, "Stage": file.Stage, "Tensors": gocode.Slice(gocode.Program.Qual("Tensor"), tensors)}
		switch {
		case file.Problems != nil && file.Problems == t.Spec.Task.File:
			of["Text"] = problemsIn("problemText", file.Problems.Text)
		case file.Problems != nil:
			of["Text"] = problemsIn("testText", file.Problems.Text)
		}
		files = append(files, of.Code())
	}
	fields["Files"] = gocode.Slice(gocode.Program.Qual("File"), files)
}

// problemsIn returns the end of a variable, which holds the problems.
func problemsIn(variable, problems string) jen.Code {
	return jen.Id(variable).Index(beforeEnd(variable, len(problems)), jen.Empty())
}

// FixedName returns the name of a fixed parameter among the parameters of a model.
func FixedName(param check.BiasParam) string { return plan.Fixed + "." + param.Name }
