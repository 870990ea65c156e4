package host

import (
	"fmt"
	"reflect"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/tokens"
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
	v := reflect.ValueOf(cfg)
	for i := range v.NumField() {
		if x := v.Field(i); !x.IsZero() {
			fields[jen.Id(v.Type().Field(i).Name)] = literal(x)
		}
	}
	return jen.Qual(taskPath, "Config").Values(fields)
}

// literal prints a value of a field of task.Config.
func literal(x reflect.Value) jen.Code {
	switch v := x.Interface().(type) {
	case task.Pad:
		return pad(check.Pad(v))
	case tokens.Rule:
		d := jen.Dict{}
		if v.Words {
			d[jen.Id("Words")] = jen.True()
		}
		if v.Numbers > 0 {
			d[jen.Id("Numbers")] = jen.Lit(v.Numbers)
		}
		return jen.Qual(tokensPath, "Rule").Values(d)
	case []string:
		return jen.Index().String().ValuesFunc(func(g *jen.Group) {
			for _, s := range v {
				g.Lit(s)
			}
		})
	case int64:
		return jen.Lit(int(v))
	case *uint64:
		return jen.Id("new").Call(jen.Uint64().Call(jen.Lit(int(*v))))
	case string, int, bool, float64:
		return jen.Lit(v)
	}
	panic(fmt.Sprintf("BUG: a field of type %s", x.Type()))
}
