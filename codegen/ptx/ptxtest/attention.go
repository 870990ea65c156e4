package ptxtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
)

// An attentionBias is a bias with the definition that it needs.
type attentionBias struct{ name, value, definition string }

// attentionBiases are biases of an attention alone.
var attentionBiases = []attentionBias{
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

// A Pick says which biases a test takes with which masks.
type Pick func(bias, mask string, causal bool) bool

// Each picks each bias with each mask, causal or not.
func Each(string, string, bool) bool { return true }

// Sparse picks some biases with each mask, and each other bias with one mask, causal or not.
func Sparse(each ...string) Pick {
	return func(bias, mask string, _ bool) bool {
		i := slices.IndexFunc(attentionBiases, func(b attentionBias) bool { return b.name == bias })
		return slices.Contains(each, bias) || mask == attentionMasks[i%len(attentionMasks)].name
	}
}

// Attentions compiles the specs of attention alone that a test picks. Without -tags full, these are
// a few biases, each with one mask.
func Attentions(heads, keyHeads, width int, pick Pick) ([]Attention, error) {
	var all []Attention
	for i, b := range attentionBiases {
		for k, m := range attentionMasks {
			for _, causal := range []bool{false, true} {
				short := slices.Contains(few, b.name) && k == i%len(attentionMasks) && causal == (i/len(attentionMasks)%2 == 0)
				if !pick(b.name, m.name, causal) || !full.Tests && !short {
					continue
				}
				a, err := attentionOf(b, m.name, m.value, causal, fmt.Sprintf("  heads = %d\n  key_heads = %d\n  width = %d\n", heads, keyHeads, width))
				if err != nil {
					return nil, err
				}
				all = append(all, a)
			}
		}
	}
	return all, nil
}

func attentionOf(b attentionBias, mask, value string, causal bool, shape string) (Attention, error) {
	name := b.name + "_" + mask
	if causal {
		name, value = name+"_causal", "causal() && "+value
	}
	text := fmt.Sprintf("arith 2\nattention {\n%s  bias = %s\n  mask = %s\n}\n%s\n", shape, b.value, value, b.definition)
	a, found, err := compiler.CompileAttention(check.Options{Path: name + ".arith", Read: func(string) ([]byte, error) { return []byte(text), nil }})
	if err == nil && found.HasErrors() {
		var list strings.Builder
		_ = found.Text(&list, func(string) ([]byte, error) { return []byte(text), nil }, false)
		err = fmt.Errorf("%s", list.String())
	}
	if err != nil {
		return Attention{}, fmt.Errorf("%s: %w", name, err)
	}
	return Attention{name, text, a}, nil
}
