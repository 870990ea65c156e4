package check

import "testing"

// TestProducts: a scratchpad for products needs an order and a layout that allow it.
func TestProducts(t *testing.T) {
	for args, want := range map[string]string{
		"order = reversed  scratchpad = true":                     "",
		"order = reversed_answer  scratchpad = true":              "",
		"order = plain  scratchpad = true":                        "E0342",
		"order = reversed  pad = zero(to = 9)  scratchpad = true": "E0342",
		"order = reversed  interleave = true  scratchpad = true":  "E0342",
		"order = reversed  hints = cyclic  scratchpad = true":     "E0342",
		"order = plain  hints = cyclic  scratchpad = false":       "",

		"order = reversed  scratchpad = true  partial_products = true": "",
		"order = reversed  partial_products = true":                    "E0342",
	} {
		text := "arith 2\ntask multiplication { operands = digits(1..2)  " + args + " }\nmodel.decoder_only { layers = 1 }\n"
		_, found := resolve(map[string]string{"a.arith": text}, "a.arith")
		if found.HasErrors() != (want != "") || want != "" && found[0].Code != want {
			t.Errorf("%s: want %q, found %v", args, want, found)
		}
	}
}
