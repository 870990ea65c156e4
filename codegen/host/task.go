package host

import (
	"reflect"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/task"
)

// The names of the files of the problems that a task reads.
const (
	ProblemFile = "problems.txt"
	TestFile    = "tests.txt"
)

// ProblemFiles are those files by name: the header, by which they are known for
// generated, then the problems; none if the task makes them.
func ProblemFiles(t *check.Task, header string) map[string][]byte {
	files := map[string][]byte{}
	for name, p := range map[string]*check.Problems{ProblemFile: t.File, TestFile: t.TestFile} {
		if p != nil {
			files[name] = []byte(header + p.Text)
		}
	}
	return files
}

// taskConfig prints it, without fields that are zero. Problems are the end of what is
// embedded.
func (t Trainer) taskConfig(f *jen.File) jen.Code {
	fields := jen.Dict{}
	cfg := task.Config(t.Spec.Task.Task)
	for _, e := range []struct {
		text                 *string
		file, variable, name string
	}{{&cfg.Problems, ProblemFile, "problemText", "Problems"}, {&cfg.Tests, TestFile, "testText", "Tests"}} {
		if n := len(*e.text); n > 0 {
			*e.text = ""
			text := embed(f, e.variable, e.file)
			fields[jen.Id(e.name)] = text.Clone().Index(jen.Len(text).Op("-").Lit(n), jen.Empty())
		}
	}
	for name, x := range fieldsOf(reflect.ValueOf(cfg)) {
		fields[jen.Id(name)] = x
	}
	return jen.Qual(taskPath, "Config").Values(fields)
}
