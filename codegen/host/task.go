package host

import (
	"fmt"
	"reflect"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/task"
)

// TaskConfig is a task as a generated program has it.
func TaskConfig(t *check.Task) task.Config {
	return task.Config{
		Kind: t.Kind, Of: t.Of,
		DigitsLo: t.DigitsLo, DigitsHi: t.DigitsHi, Below: t.Below, Released: t.Released, LengthLo: t.LengthLo, LengthHi: t.LengthHi,
		Base: t.Base, Sequence: t.Sequence,
		Reversed: t.Reversed, ReversedOperands: t.ReversedOperands, Interleave: t.Interleave,
		Pad: task.Pad(t.Pad), Hints: t.Hints, RandomPad: t.RandomPad,
		Examples: t.Examples, Holdout: t.Holdout,
		LossOnAll: t.LossOnAll, Padded: t.Padded, Scratchpad: t.Scratchpad,
		Problems: t.Problems.String(), Separator: t.Separator,
	}
}

// ProblemFile is the name of the file of the problems that a task reads.
const ProblemFile = "problems.txt"

// Problems is that file: the header, by which it is known for generated, then the
// problems; nil if the task makes them.
func Problems(t *check.Task, header string) []byte {
	if t.Problems == nil {
		return nil
	}
	return []byte(header + t.Problems.String())
}

// taskConfig prints it, without fields that are zero. Problems are the end of what is
// embedded.
func (t Trainer) taskConfig(f *jen.File) jen.Code {
	fields := jen.Dict{}
	cfg := TaskConfig(&t.Spec.Task)
	if n := len(cfg.Problems); n > 0 {
		cfg.Problems = ""
		f.Comment("//go:embed " + ProblemFile)
		f.Var().Id("problemText").String()
		fields[jen.Id("Problems")] = jen.Id("problemText").Index(jen.Len(jen.Id("problemText")).Op("-").Lit(n), jen.Empty())
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
	case []string:
		return jen.Index().String().ValuesFunc(func(g *jen.Group) {
			for _, s := range v {
				g.Lit(s)
			}
		})
	case int64:
		return jen.Lit(int(v))
	case string, int, bool, float64:
		return jen.Lit(v)
	}
	panic(fmt.Sprintf("BUG: a field of type %s", x.Type()))
}
