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
	}
}

// taskConfig prints it, without fields that are zero.
func taskConfig(t *check.Task) jen.Code {
	fields := jen.Dict{}
	v := reflect.ValueOf(TaskConfig(t))
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
