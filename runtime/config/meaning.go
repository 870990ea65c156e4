package config

import (
	"regexp"
	"strings"
)

// meanings say what parameters of a name are, the first that matches; layers and places in
// them come before it. Names are those that package model of the compiler gives.
var meanings = []struct {
	name *regexp.Regexp
	what string
}{
	{regexp.MustCompile(`^token$`), "table of tokens: [tokens, width]"},
	{regexp.MustCompile(`^position$`), "table of positions: [rows, width]"},
	{regexp.MustCompile(`^norm\.gamma$`), "gains of the normalization: [width]"},
	{regexp.MustCompile(`^norm\.beta$`), "offsets of the normalization: [width]"},
	{regexp.MustCompile(`^q\.w$`), "queries, heads side by side: [width in, width]"},
	{regexp.MustCompile(`^k\.w$`), "keys, heads side by side: [width in, width]"},
	{regexp.MustCompile(`^v\.w$`), "values, heads side by side: [width in, width]"},
	{regexp.MustCompile(`^o\.w$`), "result of the heads: [width, width out]"},
	{regexp.MustCompile(`^in\.w$`), "first matrix: [width, hidden]"},
	{regexp.MustCompile(`^gate\.w$`), "gates: [width, hidden]"},
	{regexp.MustCompile(`^out\.w$`), "last matrix: [in, out]"},
	{regexp.MustCompile(`\.scalar$`), "multiple of the identity"},
	{regexp.MustCompile(`\.down\.w$`), "first of two narrow matrices: [in, rank]"},
	{regexp.MustCompile(`\.up\.w$`), "second of two narrow matrices: [rank, out]"},
	{regexp.MustCompile(`^(q|k|qk)\.norm\.gamma$`), "gains of the normalization of heads: [heads * head width]"},
	{regexp.MustCompile(`^norms\.(gamma|beta)$`), "gains or offsets of all normalizations: [width]"},
	{regexp.MustCompile(`^relative$`), "keys of relative positions: [distances, width of a head]"},
	{regexp.MustCompile(`^calibrated\.`), "lines that a calibration has kept"},
	{regexp.MustCompile(`\.b$`), "added to the result of the matrix: [out]"},
	{regexp.MustCompile(`\.w$`), "matrix: [in, out]"},
}

// places are parts of a layer or of the whole.
var places = map[string]string{"embed": "embedding", "encoder": "encoder", "encoder_norm": "encoder, behind its layers", "fixed": "given", "decoder": "decoder", "loop": "loop",
	"encoder_shared": "encoder, what layers share", "decoder_shared": "decoder, what layers share", "loop_shared": "loop, what layers share", "head": "head",
	"self": "self attention", "cross": "cross attention", "ffn": "feed-forward part", "shared": "used in several places", "source": "of the problem", "target": "of the answer"}

// Meaning is what a parameter is, by its name, which package model of the compiler has given.
func Meaning(name string) string {
	var where []string
	unit := "layer "
	rest := strings.Split(name, ".")
	for len(rest) > 1 {
		place, known := places[rest[0]]
		switch {
		case known:
			where = append(where, place)
			if strings.HasSuffix(rest[0], "_shared") {
				unit = "layers of group "
			}
		case isNumber(rest[0]):
			where = append(where, unit+rest[0])
		default:
			return of(where, strings.Join(rest, "."))
		}
		rest = rest[1:]
	}
	return of(where, strings.Join(rest, "."))
}

// of is the meaning of what is left of a name, with the places before it.
func of(where []string, name string) string {
	what := "parameter " + name + " of the spec"
	for _, m := range meanings {
		if m.name.MatchString(name) {
			what = m.what
			break
		}
	}
	if len(where) == 0 {
		return what
	}
	return strings.Join(where, ", ") + ": " + what
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
