package config

import (
	"regexp"
	"strings"
	"sync"
)

// linear matches the matrices of layers and of the head, after their places.
const linear = `^((self|cross)\.[qkvo]|ffn\.in|ffn\.in\.u|ffn\.in\.g|ffn\.out|head\.out|head\.adapter)`

// meanings returns what describes parameters by name; the first match counts. A name begins with its
// innermost place, as package model of the compiler gives it. Any other name has the bias or
// table, a dot, and its parameter.
var meanings = sync.OnceValue(func() []meaning {
	return []meaning{
		{regexp.MustCompile(`^\w+\.token$`), "table of tokens: [tokens, width]"},
		{regexp.MustCompile(`^\w+\.position$`), "table of positions: [rows, width]"},
		{regexp.MustCompile(`^\w+\.norm\.gamma$`), "gains of the normalization: [width]"},
		{regexp.MustCompile(`^\w+\.norm\.beta$`), "offsets of the normalization: [width]"},
		{regexp.MustCompile(`^(self|cross)\.q\.w$`), "queries, heads side by side: [width in, width]"},
		{regexp.MustCompile(`^(self|cross)\.k\.w$`), "keys, heads side by side: [width in, width]"},
		{regexp.MustCompile(`^(self|cross)\.v\.w$`), "values, heads side by side: [width in, width]"},
		{regexp.MustCompile(`^(self|cross)\.o\.w$`), "result of the heads: [width, width out]"},
		{regexp.MustCompile(`^ffn\.in\.w$`), "first matrix: [width, hidden]"},
		{regexp.MustCompile(`^ffn\.in\.u\.w$`), "first matrix, which the gates multiply: [width, hidden]"},
		{regexp.MustCompile(`^ffn\.in\.g\.w$`), "gates: [width, hidden]"},
		{regexp.MustCompile(`^(ffn|head)\.out\.w$`), "last matrix: [in, out]"},
		{regexp.MustCompile(`^head\.adapter\.w$`), "matrix before the last one: [width, width]"},
		{regexp.MustCompile(linear + `\.scalar$`), "multiple of the identity"},
		{regexp.MustCompile(linear + `\.down\.w$`), "first of two narrow matrices: [in, rank]"},
		{regexp.MustCompile(linear + `\.up\.w$`), "second of two narrow matrices: [rank, out]"},
		{regexp.MustCompile(linear + `\.b$`), "added to the result of the matrix: [out]"},
		{regexp.MustCompile(`^(self|cross)\.(q|k|qk)\.norm\.gamma$`), "gains of the normalization of heads: [heads * head width]"},
		{regexp.MustCompile(`^shared\.norms\.(gamma|beta)$`), "gains or offsets of all normalizations: [width]"},
		{regexp.MustCompile(`^\w+\.relative$`), "keys of relative positions: [distances, width of a head]"},
		{regexp.MustCompile(`^fixed\.calibrated\d*\.`), "lines that a calibration has selected"},
	}
})

// A meaning describes the parameters whose names match.
type meaning struct {
	name *regexp.Regexp
	what string
}

// places are parts of a layer or of the whole.
var places = map[string]string{"embed": "embedding", "encoder": "encoder", "encoder_norm": "encoder, after its layers", "fixed": "given", "decoder": "decoder", "loop": "loop",
	"encoder_shared": "encoder, what layers share", "decoder_shared": "decoder, what layers share", "loop_shared": "loop, what layers share", "head": "head",
	"self": "self attention", "cross": "cross attention", "ffn": "feed-forward part", "shared": "used in several places", "source": "of the problem", "target": "of the answer"}

// Meaning describes a parameter by its name, as package model of the compiler gives it.
func Meaning(name string) string {
	var where []string
	unit, last := "layer ", ""
	rest := strings.Split(name, ".")
	for len(rest) > 1 && !innermost[last] {
		place, known := places[rest[0]]
		switch {
		case known:
			where, last = append(where, place), rest[0]
			if strings.HasSuffix(rest[0], "_shared") {
				unit = "layers of group "
			}
		case isNumber(rest[0]):
			where = append(where, unit+rest[0])
		default:
			return of(where, last, strings.Join(rest, "."))
		}
		rest = rest[1:]
	}
	return of(where, last, strings.Join(rest, "."))
}

// innermost are the places that contain no others: any name may follow them.
var innermost = map[string]bool{"self": true, "cross": true, "shared": true, "fixed": true}

// of describes the rest of a name and the places before it.
func of(where []string, last, name string) string {
	block, param, _ := strings.Cut(name, ".")
	what := "parameter " + param + " of " + block
	if last == "self" || last == "cross" {
		what = "parameter " + param + " of the bias " + block
	}
	for _, m := range meanings() {
		if m.name.MatchString(last + "." + name) {
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
