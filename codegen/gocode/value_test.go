package gocode

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// TestValue prints one value of each kind, without zero or empty fields.
func TestValue(t *testing.T) {
	for want, v := range map[string]any{
		`train.Config{ Alpha: 0.5, Budget: config.Budget{Time: 3600000000000}, Progressive: true, Seed: 18446744073709551615, Stop: &config.Stop{AtLeast: 1.0}, }`: train.Config{
			Alpha: 0.5, Budget: train.Budget{Time: time.Hour}, Progressive: true, Seed: 1<<64 - 1, Stop: &train.Stop{AtLeast: 1}},
		`eval.Config{ Digits: []int{6, 60}, Grid: config.Grid{Second: config.Span{ Hi: 2, Lo: 1, }}, }`: eval.Config{
			Digits: []int{6, 60}, Grid: eval.Grid{Second: eval.Span{Lo: 1, Hi: 2}}, Times: []int{}},
		`task.Config{ Kind: "a\"b", Of: []string{"x"}, Split: new(uint64(0)), }`: task.Config{Kind: `a"b`, Of: []string{"x"}, Split: new(uint64)},
		`device.Group{Params: []config.Param{ { Min: new(float32(0.1)), Name: "w", }, {Shape: []int{-1}}, }}`: device.Group{Params: []device.Param{
			{Name: "w", Min: new(float32(0.1))}, {Shape: []int{-1}}}},
	} {
		if got := strings.Join(strings.Fields(fmt.Sprintf("%#v", Value(v))), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFields wants fields sorted, and fields without a value left out.
func TestFields(t *testing.T) {
	var none *jen.Statement
	for want, fs := range map[string]Fields{
		"T{}":                                 {"A": 0, "B": "", "C": none, "D": nil, "E": []int{}, "F": Slice(jen.Int(), nil)},
		"T{B: x}":                             {"A": false, "B": jen.Id("x")},
		"T{ A: 0, B: []int{1}, }":             {"B": []int{1}, "A": jen.Lit(0)},
		"T{A: []int{ x, y, }}":                {"A": Slice(jen.Int(), []jen.Code{jen.Id("x"), jen.Id("y")})},
		"T{A: config.Pad{ Step: 2, To: 8, }}": {"A": task.Pad{To: 8, Step: 2}},
	} {
		if got := strings.Join(strings.Fields(fmt.Sprintf("%#v", jen.Id("T").Add(fs.Code()))), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
