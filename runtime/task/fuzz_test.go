package task_test

import (
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
)

// FuzzParse parses any text with every task, and makes a batch of the problems.
func FuzzParse(f *testing.F) {
	var all []*Task
	for _, cfg := range []Config{
		{Kind: "successor", Below: 1000, Base: 10, Reversed: true, Pad: Pad{To: 7, Step: 3}},
		{Kind: "addition", DigitsLo: 1, DigitsHi: 5, Base: 10, Reversed: true},
		{Kind: "multiplication", DigitsLo: 1, DigitsHi: 3, Base: 10, Sequence: true},
		{Kind: "parity", DigitsLo: 1, DigitsHi: 8, Base: 2, Sequence: true},
		{Kind: "sort", DigitsLo: 1, DigitsHi: 3, LengthLo: 1, LengthHi: 4, Base: 10, Sequence: true},
		{Kind: "file", Problems: "one -> 1\ntwo -> 2\n", Separator: " -> ", Sequence: true},
	} {
		t, err := tasks.New(cfg, 1)
		if err != nil {
			f.Fatal(cfg.Kind, err)
		}
		all = append(all, t)
	}
	for _, text := range []string{"12", "12+34", "3*4", "0110", "b:21,a:3", "-1", "0x1f", "१२", "٣+٤", "+", "1++1", "0000000000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, task := range all {
			p, err := task.Parse(text)
			if err != nil {
				continue
			}
			if _, err := task.One(p); err != nil && len(text) < 5 {
				t.Errorf("%q is a problem, but no batch: %v", text, err)
			}
			task.Text(p)
		}
	})
}
