package config

import "testing"

func TestMeaning(t *testing.T) {
	for name, want := range map[string]string{
		"decoder.2.self.norm.beta":   "decoder, layer 2, self attention: offsets of the normalization: [width]",
		"loop_shared.1.self.k.low":   "loop, what layers share, layers of group 1, self attention: parameter k.low of the spec",
		"decoder_shared.0.ffn.out.w": "decoder, what layers share, layers of group 0, feed-forward part: last matrix: [in, out]",
		"decoder.0.ffn.in.g.w":       "decoder, layer 0, feed-forward part: gates: [width, hidden]",
		"loop.0.self.v.up.w":         "loop, layer 0, self attention: second of two narrow matrices: [rank, out]",
		"head.adapter.w":             "head: matrix before the last one: [width, width]",
		"head.out.b":                 "head: added to the result of the matrix: [out]",
		"decoder.0.self.slope.w":     "decoder, layer 0, self attention: parameter slope.w of the spec",
		"decoder.0.self.slope.b":     "decoder, layer 0, self attention: parameter slope.b of the spec",
		"shared.slope.scalar":        "used in several places: parameter slope.scalar of the spec",
		"decoder.0.self.out.w":       "decoder, layer 0, self attention: parameter out.w of the spec",
		"embed.token":                "embedding: table of tokens: [tokens, width]",
		"shared.ffn.w":               "used in several places: parameter ffn.w of the spec",
		"decoder.0.cross.loop.w":     "decoder, layer 0, cross attention: parameter loop.w of the spec",
	} {
		if got := Meaning(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
