package host

import (
	"reflect"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/task"
)

// TaskConfig is a task as a generated program has it.
func TaskConfig(t *check.Task) task.Config {
	return task.Config{
		Kind: t.Kind, Of: t.Of,
		DigitsLo: t.DigitsLo, DigitsHi: t.DigitsHi, Below: t.Below, Released: t.Released, Repeated: t.Repeated, LengthLo: t.LengthLo, LengthHi: t.LengthHi,
		Base: t.Base, Sequence: t.Sequence,
		Reversed: t.Reversed, ReversedOperands: t.ReversedOperands, Interleave: t.Interleave,
		Pad: task.Pad(t.Pad), Hints: t.Hints, RandomPad: t.RandomPad,
		Examples: t.Examples, Holdout: t.Holdout, Split: t.Split,
		LossOnAll: t.LossOnAll, Padded: t.Padded, Scratchpad: t.Scratchpad,
		Problems: t.Problems.String(), Tests: t.Tests.String(), Separator: t.Separator, Tokens: t.Tokens,
	}
}

// The names of the files of the problems that a task reads.
const (
	ProblemFile = "problems.txt"
	TestFile    = "tests.txt"
)

// ProblemFiles are those files by name: the header, by which they are known for
// generated, then the problems; none if the task makes them.
func ProblemFiles(t *check.Task, header string) map[string][]byte {
	files := map[string][]byte{}
	for name, p := range map[string]*check.Problems{ProblemFile: t.Problems, TestFile: t.Tests} {
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
	cfg := TaskConfig(&t.Spec.Task)
	for _, e := range []struct {
		text                 *string
		file, variable, name string
	}{{&cfg.Problems, ProblemFile, "problemText", "Problems"}, {&cfg.Tests, TestFile, "testText", "Tests"}} {
		if n := len(*e.text); n > 0 {
			*e.text = ""
			f.Comment("//go:embed " + e.file)
			f.Var().Id(e.variable).String()
			fields[jen.Id(e.name)] = jen.Id(e.variable).Index(jen.Len(jen.Id(e.variable)).Op("-").Lit(n), jen.Empty())
		}
	}
	for name, x := range fieldsOf(reflect.ValueOf(cfg)) {
		fields[jen.Id(name)] = x
	}
	return jen.Qual(taskPath, "Config").Values(fields)
}
