package config

import "testing"

func TestMeaning(t *testing.T) {
	for name, want := range map[string]string{
		"decoder.2.self.norm.beta":   "decoder, layer 2, self attention: offsets of the normalization: [width]",
		"loop_shared.1.self.k.low":   "loop, what layers share, layers of group 1, self attention: parameter k.low of the spec",
		"decoder_shared.0.ffn.out.w": "decoder, what layers share, layers of group 0, feed-forward part: last matrix: [in, out]",
	} {
		if got := Meaning(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
