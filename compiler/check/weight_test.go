package check

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// TestWeights reads matrices of projections and tables, and reports impossible ones.
func TestWeights(t *testing.T) {
	for set, want := range map[string]string{
		"model.decoder.self.k=q":                                                                               "",
		"model.decoder.self.o=transposed(v)":                                                                   "",
		"model.decoder.cross.v=self.v":                                                                         "",
		"model.decoder.self.q=low(rank = 2)":                                                                   "",
		"model.decoder.self.q=low":                                                                             "E0210",
		"model.decoder.self.q=own(init = normal(2))":                                                           "",
		"model.decoder.self.q=own(init = xavier())":                                                            "E0206",
		"model.decoder.self.o=scalar":                                                                          "",
		"model.decoder.self.o=none":                                                                            "",
		"model.decoder.self.q=none":                                                                            "E0336", // only keys
		"model.decoder.self.q=2":                                                                               "E0206",
		"model.decoder.self.q=encoder.k":                                                                       "E0336",
		"model.decoder.self.q=z":                                                                               "E0336",
		"model.decoder.self.o=q":                                                                               "", // both are square
		"model.head_width=3; model.decoder.self.o=q":                                                           "E0336",
		"model.head_width=3; model.decoder.self.v=none":                                                        "E0336",
		"model.head_width=3; model.decoder.self.o=scalar":                                                      "E0336",
		"model.head_width=3; model.decoder.self.q=scalar":                                                      "E0336",
		"model.head_width=3; model.heads=3":                                                                    "",
		"model.decoder.self.k=q; model.decoder.self.v=k":                                                       "E0336", // k has no matrix
		"model.decoder.self.key_heads=1":                                                                       "",
		"model.decoder.self.key_heads=2; model.decoder.self.k=q":                                               "",
		"model.heads=4; model.decoder.self.key_heads=3":                                                        "E0345",
		"model.decoder.self.key_heads=4":                                                                       "E0345",
		"model.decoder.self.key_heads=1; model.decoder.self.qk_norm=rmsnorm(gain = shared)":                    "E0345",
		"model.decoder.self.key_heads=1; model.decoder.self.qk_norm=rmsnorm()":                                 "",
		"model.decoder.self.key_heads=1; model.decoder.self.k=q":                                               "E0336",
		"model.decoder.self.key_heads=1; model.decoder.self.v=k":                                               "",
		"model.decoder.self.key_heads=1; model.decoder.self.v=none":                                            "E0336",
		"model.decoder.self.key_heads=1; model.decoder.self.o=transposed(v)":                                   "E0336",
		"model.decoder.cross.key_heads=1; model.decoder.cross.v=self.v":                                        "E0336",
		"model.head_width=8; model.decoder.self.key_heads=1; model.decoder.self.v=none":                        "",
		"model.head_width=8; model.decoder.self.key_heads=1; model.decoder.self.k=scalar":                      "",
		"model.ffn=relu(out = transposed(in))":                                                                 "",
		"model.ffn=relu(out = transposed(gate))":                                                               "E0208",
		"model.ffn=swiglu(out = transposed(gate), gate = value)":                                               "",
		"model.ffn=swiglu(out = transposed)":                                                                   "E0210",
		"model.head=swiglu(gate = value)":                                                                      "E0203",
		"model.decoder.layers=6; model.decoder.share=ffn(group = 4)":                                           "E0346",
		"model.decoder.layers=6; model.decoder.share=all(2)":                                                   "",
		"model.decoder.share=norms":                                                                            "E0208",
		"model.output=linear(rank = 2)":                                                                        "",
		"model.output=linear(tied = true, rank = 2)":                                                           "E0335",
		"model.output=linear(value = ray)":                                                                     "",
		"model.output=linear(tied = true, value = ray)":                                                        "E0335",
		"model.embed.token=learned(value = ray)":                                                               "",
		"model.embed.token=learned(value = rays)":                                                              "E0209",
		"model.embed.token=learned(value = alibi)":                                                             "E0209",
		"model.embed.token=learned(value = i)":                                                                 "E0209",
		"model.decoder.self.bias=ray":                                                                          "E0209",
		"model.decoder.self.bias=n":                                                                            "E0209",
		"model.embed.token=learned(value = log(n))":                                                            "E0329",
		"model.embed.token=learned(value = ray + 1/(n - c + 0.5))":                                             "",
		"table.ray.w=learned([4],init=1); model.output=linear(value=log(ray))":                                 "E0329",
		"table.ray.w=learned([4],init=1); table.ray.value=log(w[clip(n,0,3)]); model.output=linear(value=ray)": "V023",
		"table.ray.value=w[n]":                                                                                 "E0303",
		"table.ray.value=w[clip(n, 0, 3)] + C":                                                                 "V017",
		"model.norm=layernorm(at = [ffn, head])":                                                               "E0208",
		"model.norm=layernorm(gain = shared)":                                                                  "",
		"model.decoder.self.qk_norm=rmsnorm(gain = shared)":                                                    "",
		"model.embed.position=abacus(value = ray)":                                                             "V011",
		"model.embed.position=abacus(learned = false)":                                                         "V011",
		"model.embed.position=abacus(learned = false, value = ray)":                                            "E0335",
	} {
		const spec = "arith 2\ntask successor {}\nmodel { width = 8  heads = 2 }\ntable ray { w = learned([4])  value = w[clip(n, 0, 3)] * c }\n"
		_, list := Resolve(Options{Path: "a.arith", Set: strings.Split(set, "; "), Read: func(string) ([]byte, error) { return []byte(spec), nil }})
		var got []string
		for _, d := range list {
			if d.Code == "V017" && want != "V017" || slices.Contains([]string{"V001", "V007", "V014"}, d.Code) {
				continue
			}
			got = append(got, d.Code)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %q", set, list, want)
		}
	}
}

// TestTableRows: a digit's row is its value, and each token has its own row.
func TestTableRows(t *testing.T) {
	for _, c := range []config.Task{
		{Kind: "addition", Base: 10, DigitsLo: 1, DigitsHi: 3},
		{Kind: "addition", Base: 16, DigitsLo: 1, DigitsHi: 3},
		{Kind: "addition", Base: 16, DigitsLo: 1, DigitsHi: 3, Used: true},
		{Kind: "successor", Base: 10, DigitsLo: 1, DigitsHi: 3, Used: true, Unended: true, Pad: config.Pad{To: 4}},
		{Kind: "addition", Base: 10, DigitsLo: 1, DigitsHi: 3, Sequence: true},
		{Kind: "addition", Base: 10, DigitsLo: 1, DigitsHi: 3, Sequence: true, Used: true, Started: true, Unended: true, Pad: config.Pad{To: 4}},
		{Kind: "successor", Base: 10, DigitsLo: 1, DigitsHi: 3, Sequence: true, Used: true},
	} {
		of, err := tasks.New(task.Config(c), 1)
		if err != nil {
			t.Fatal(err)
		}
		checked := Task{Task: c}
		rows := checked.TableRows()
		if symbols := of.Vocabulary(); len(symbols) != len(rows) {
			t.Errorf("%+v: %d rows for the tokens %q", c, len(rows), symbols)
			continue
		}
		for id, symbol := range of.Vocabulary() {
			if value, err := strconv.ParseInt(symbol, c.Base, 64); err == nil && rows[id] != int(value) {
				t.Errorf("%+v: token %s has row %d", c, symbol, rows[id])
			}
		}
		sorted := slices.Sorted(slices.Values(rows))
		for n, row := range sorted {
			if n != row {
				t.Errorf("%+v: rows are %v", c, rows)
				break
			}
		}
	}
}
