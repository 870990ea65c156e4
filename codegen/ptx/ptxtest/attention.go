package ptxtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
)

// attentionBiases are biases of an attention alone, with definitions that they need.
var attentionBiases = []struct{ name, value, definition string }{
	{"none", "none", ""},
	{"alibi", "alibi()", ""},
	{"kerple", "kerple()", ""},
	{"power", "power", `bias power {
  r1    = learned([H], init = uniform(0, 2), min = 0)
  r2    = learned([H], init = uniform(0.5, 1), min = 0)
  value = -r1[h] * exp(r2[h] * log(1 + abs(i - j)))
}`},
	{"sandwich", "sandwich(pairs = 4)", ""},
	{"t5", "t5(buckets = 8, max = 16)", ""},
	{"rpe", "rpe(clip = 3)", ""},
	{"fire", "fire(hidden = 4)", ""},
	{"slope", "slope", `bias slope {
  s     = learned([], init = -0.5)
  value = s * (i - j)
}`},
	{"parity", "parity", `bias parity {
  a     = learned([H], init = normal(1))
  value = where(mod(i + j, 2) == 0, a[h], -0.25)
}`},
	{"keys", "keys", `bias keys {
  w     = learned([H, 8], init = normal(1))
  value = w[h, clip(j, 0, 7)]
}`},
	{"given", "given", ""},
	{"sum", "t5(buckets = 4) + kerple() + alibi()", ""},
}

// few are biases that together have each kind of table and of gradient.
var few = []string{"none", "kerple", "t5", "fire", "keys", "given"}

// attentionMasks are masks of an attention alone. The last one closes all keys of some queries.
var attentionMasks = []struct{ name, value string }{
	{"open", "true"},
	{"window", "abs(i - j) <= 3"},
	{"stripes", "mod(i - j, 3) != 1"},
	{"late", "4 <= j && j != i"},
}

// An Attention is a compiled spec of attention alone.
type Attention struct {
	Name, Text string
	*compiler.Attention
}

// Attentions compiles specs of attention alone: a few biases with one of the masks, causal or not, and
// with -tags full each bias with each mask. With names it takes only the biases of these names.
func Attentions(heads, keyHeads, width int, names ...string) ([]Attention, error) {
	var all []Attention
	if len(names) == 0 && !full.Tests {
		names = few
	}
	for i, b := range attentionBiases {
		for k, m := range attentionMasks {
			for _, causal := range []bool{false, true} {
				if len(names) > 0 && !slices.Contains(names, b.name) {
					continue
				}
				if !full.Tests && (k != i%len(attentionMasks) || causal != (i/len(attentionMasks)%2 == 0)) {
					continue
				}
				name, mask := b.name+"_"+m.name, m.value
				if causal {
					name, mask = name+"_causal", "causal() && "+m.value
				}
				text := fmt.Sprintf("arith 1\nattention {\n  heads = %d\n  key_heads = %d\n  width = %d\n  bias = %s\n  mask = %s\n}\n%s\n",
					heads, keyHeads, width, b.value, mask, b.definition)
				a, found, err := compiler.CompileAttention(check.Options{Path: name + ".arith", Read: func(string) ([]byte, error) { return []byte(text), nil }})
				if err == nil && found.HasErrors() {
					var list strings.Builder
					_ = found.Text(&list, func(string) ([]byte, error) { return []byte(text), nil }, false)
					err = fmt.Errorf("%s", list.String())
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				all = append(all, Attention{name, text, a})
			}
		}
	}
	return all, nil
}
