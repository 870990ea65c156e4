package config

import "testing"

func TestMeaning(t *testing.T) {
	for name, want := range map[string]string{
		"decoder.2.self.norm.beta":   "decoder, layer 2, self attention: offsets of the normalization: [width]",
		"loop_shared.1.self.k.low":   "loop, what layers share, layers of group 1, self attention: parameter low of the bias k",
		"decoder_shared.0.ffn.out.w": "decoder, what layers share, layers of group 0, feed-forward part: last matrix: [in, out]",
		"decoder.0.ffn.in.g.w":       "decoder, layer 0, feed-forward part: gates: [width, hidden]",
		"loop.0.self.v.up.w":         "loop, layer 0, self attention: second of two narrow matrices: [rank, out]",
		"head.adapter.w":             "head: matrix before the last one: [width, width]",
		"head.out.b":                 "head: added to the result of the matrix: [out]",
		"decoder.0.self.slope.w":     "decoder, layer 0, self attention: parameter w of the bias slope",
		"decoder.0.self.slope.b":     "decoder, layer 0, self attention: parameter b of the bias slope",
		"shared.slope.scalar":        "used in several places: parameter scalar of slope",
		"decoder.0.self.out.w":       "decoder, layer 0, self attention: parameter w of the bias out",
		"embed.token":                "embedding: table of tokens: [tokens, width]",
		"decoder.0.self.rpe.w":       "decoder, layer 0, self attention: parameter w of the bias rpe",
		"shared.ffn.w":               "used in several places: parameter w of ffn",
		"decoder.0.cross.loop.w":     "decoder, layer 0, cross attention: parameter w of the bias loop",
	} {
		if got := Meaning(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
