package check

import (
	"strings"
	"testing"
)

// TestHidden compares warnings with what windows show of a problem.
func TestHidden(t *testing.T) {
	const decoder = "model { heads = 2  encoder.layers = 0  decoder { layers = 1  self.mask = i - j <= 1  cross.mask = "
	loop := func(mask string) string {
		return "model { heads = 2  decoder_only { layers = 2  self.mask = " + mask + " } }\n"
	}
	for src, want := range map[string]string{
		"task addition { operands = digits(1..3)  pad = zero(to = 3, answer = 4)  order = reversed }\n" + decoder + "j == i || j == i + 4 } }":       "row 0 sees ^ and + alone, and must say 0 for 0+0, 1 for 0+1",
		"task addition { operands = digits(4..9)  pad = zero(to = 9, answer = 10)  order = reversed }\n" + decoder + "j == i || j == i + 10 } }":     "row 0 sees ^ and + alone, and must say 0 for 1000+1000, 1 for 1000+1001",
		"task addition { operands = below(50)  pad = zero(to = 3)  order = plain }\n" + decoder + "j == i || j == i + 4 } }":                         "row 2 sees 0 alone, and must say 0 for 0+0, 1 for 0+1",
		"task successor { base = 16  operands = digits(1..2)  pad = zero(to = 3) }\n" + decoder + "false } }\nvet.no_key = off":                      "row 0 sees ^ alone, and must say 1 for 0, 2 for 1",
		"task parity { base = 2  operands = digits(1..6)  pad = zero(to = 6)  scratchpad = false }\n" + decoder + "j == i + 1 } }":                   "row 5 sees",
		"task subtraction { operands = digits(1..2) }\n" + loop("i - j < 1"):                                                                         "token 0 of the answer, sees = alone, and must say 0 for 1-1, ",
		"task multiplication { operands = digits(1..2) }\n" + loop("i - j < 1"):                                                                      "sees = alone, and must say 1 for 1*1, 2 for 1*2",
		"task or { order = plain  operands = digits(1..4) }\n" + loop("i - j < 1"):                                                                   "sees = alone, and must say 1 for 000+1, 0 for 00+01",
		"task sort { operands = digits(1..2)  length = 2..3 }\n" + loop("i - j < 1"):                                                                 "token 0 of the answer, sees = alone",
		"task mixed { of = [addition, subtraction]  operands = digits(1..2) }\n" + loop("i - j < 1"):                                                 "sees = alone, and must say 2 for 1+1, 3 for 1+2",
		"task file { path = \"p\" }\n" + loop("i - j < 1"):                                                                                           "row 2, which says token 0 of the answer, sees = alone, and must say 3 for bc, 1 for ab",
		"task file { path = \"p\" }\n" + loop("i - j < 2"):                                                                                           "", // visible through two layers
		"task subtraction { operands = digits(1..2) }\n" + loop("i - j < layer"):                                                                     "row 3, which says token 0 of the answer, sees 2 and = alone",
		"task file { path = \"p\" }\n" + loop("i - j < 3 - layer"):                                                                                   "sees b and = alone",
		"task addition { operands = digits(1..2)  hints = cyclic }\n" + loop("i - j < 2"):                                                            "of the answer, sees",
		"task addition { operands = digits(1..2) }\nmodel { decoder_only { layers = 2  self { mask = j > 0  rotary = rope() } } }\nvet.no_key = off": "row 3, which says token 0 of the answer, sees +, 2 and = alone, and must say 3 for 1+2, 4 for 2+2",
		"task addition { operands = digits(1..2) }\nmodel { decoder_only { layers = 2  state = normal  self.mask = i - j < 1 } }":                    "", // noise distinguishes rows
	} {
		files := map[string]string{"a.arith": "arith 2\n" + src + "\n", "p": "ab=1\nbb=2\nbb=3\nbc=3\n"}
		_, list := resolve(files, "a.arith")
		got := ""
		for _, d := range list {
			if d.Severity.String() == "error" {
				t.Errorf("%s:\n%s", src, textOf(list, files))
			}
			if d.Code == "V014" {
				got = d.Message
			}
		}
		if got == "" != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s:\n%q, want %q", src, got, want)
		}
	}
}
