package task

import (
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/tokens"
)

// symbols is the whole vocabulary of encoder-decoders: a token is an index into it. The
// first 17 are those of the released code of the attention-bias paper, in ASCII
// order; digits beyond 9 follow for larger bases. Checkpoints depend on the order.
const symbols = "$*+-/0123456789@^abcdefghijklmnopqrstuvwxyz"

const (
	symbolEOS = '$'
	symbolSOS = '^'
)

// An alphabet is the tokens of an encoder-decoder: a token is an index into its symbols.
type alphabet struct {
	symbols string
	ids     [128]int32
}

// newAlphabet is the symbols that there are, up to the last digit of the base, or those
// that problems have: the digits by value, the operator, and the marks.
func newAlphabet(c *Config, op string) *alphabet {
	a := &alphabet{symbols: symbols[:strings.IndexByte(symbols, 'a')]}
	switch {
	case c.Used:
		a.symbols = digits[:c.Base] + op + string(symbolSOS) + string(symbolEOS)
	case c.Base > 10:
		a.symbols = symbols[:strings.IndexByte(symbols, digits[c.Base-1])+1]
	}
	for id, symbol := range []byte(a.symbols) {
		a.ids[symbol] = int32(id)
	}
	return a
}

// letters are what index hints are made of, in this order (McLeish et al. 2024,
// arXiv:2405.17399, the released code): ASCII without the digits and operators,
// then Greek.
const (
	letters    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwyz!@£#$%^&*()~?.,<>{}[]:;/|βΓΔδεζηθκΛλμΞξΠπΣςτΦφχΨψΩω"
	numLetters = 102
)

// The tokens of sequences that every vocabulary has. Spaces are fillers, so that
// the token of the symbol for a space is never made.
const (
	padID   = 0
	startID = 2
	eosID   = 3
	zeroID  = 4 // digits are 4 to 13
	equalID = 17
	spaceID = 18
)

// A vocabulary maps symbols to tokens and back.
type vocabulary struct {
	symbols []string // by token
	eos     int32
	filler  int32    // -1 where there is none
	digits  [2]int32 // the first, and the one behind the last
	hints   []rune
	ascii   [128]int32
	other   map[rune]int32
	words   map[string]int32 // of a file whose tokens are no characters; nil: they are
}

// newVocabulary is that of a task's sequences: McLeish et al. 2024, the released
// code's character tokenizers for numbers, index hints and sorting; or the tokens of
// a file.
func newVocabulary(c *Config) *vocabulary {
	switch {
	case c.Kind == ofFile:
		return vocabularyOf(c)
	case c.Used:
		return usedVocabulary(c)
	}
	const specials, number = " ?^$", "0123456789"
	v := &vocabulary{hints: []rune(letters), other: map[rune]int32{}, eos: eosID, digits: [2]int32{zeroID, zeroID + 10}}
	own, more := "+-x= ", ""
	switch {
	case c.Kind == "sort":
		own, more = "D,:= ", strings.NewReplacer("D", "", ",", "", ":", "").Replace(letters)
	case c.hinted():
		more = letters
	}
	for id, r := range []rune(specials + number + own + more) {
		v.symbols = append(v.symbols, string(r))
		if id >= zeroID && id != spaceID { // others stand for no symbol of a text
			v.set(r, int32(id))
		}
	}
	if c.Started {
		v.set(symbolSOS, startID)
	}
	return v
}

// usedVocabulary is the tokens that problems have: the digits of the base by value, the
// operator, the = and, where answers have an end, that.
func usedVocabulary(c *Config) *vocabulary {
	v := &vocabulary{other: map[rune]int32{}, filler: -1, digits: [2]int32{0, int32(c.Base)}}
	k, _ := kindOf(c)
	text := digits[:c.Base] + strings.ReplaceAll(k.op, "*", "x")
	if c.Started {
		text += string(symbolSOS)
	}
	text += "="
	v.eos = int32(len(text))
	if !c.Unended {
		text += "$"
	}
	for id, r := range text {
		v.symbols = append(v.symbols, string(r))
		v.set(r, int32(id))
	}
	return v
}

// vocabularyOf is that of a file: a filler, the end, and the tokens that there are.
func vocabularyOf(c *Config) *vocabulary {
	v := &vocabulary{eos: 1, other: map[rune]int32{}}
	used := map[string]bool{}
	take := func(text string) {
		for rest := []byte(text); len(rest) > 0; {
			var token []byte
			token, rest = c.Tokens.Next(rest)
			used[string(token)] = true
		}
	}
	for _, file := range []string{c.Problems, c.Tests} {
		for line := range strings.Lines(file) {
			prompt, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), c.Separator)
			take(prompt)
			take(answer)
		}
	}
	for _, token := range c.Tokens.Separator(c.Separator) {
		used[token] = true
	}
	own, digits := c.Tokens.Vocabulary(used)
	v.symbols = append([]string{" ", "$"}, own...)
	v.digits = [2]int32{2, 2 + int32(digits)}
	if c.Tokens != (tokens.Rule{}) {
		v.words = map[string]int32{}
	}
	for i, token := range own {
		id := int32(2 + i)
		if r, _ := utf8.DecodeRuneInString(token); v.words == nil {
			v.set(r, id)
		} else {
			v.words[token] = id
		}
	}
	return v
}

func (v *vocabulary) set(r rune, id int32) {
	if r < 128 {
		v.ascii[r] = id
	} else {
		v.other[r] = id
	}
}

// id is the token of a symbol.
func (v *vocabulary) id(r rune) int32 {
	if r < 128 {
		return v.ascii[r]
	}
	return v.other[r]
}

// idOf is the token of what is written so in a file, padID if there is none.
func (v *vocabulary) idOf(token []byte) int32 {
	if v.words != nil {
		return v.words[string(token)]
	}
	r, _ := utf8.DecodeRune(token)
	return v.id(r)
}

// letter is number n of the letters, the first behind the last.
func (v *vocabulary) letter(n int) rune { return v.hints[n%numLetters] }

// Vocab is the number of tokens that a model distinguishes.
func (t *Task) Vocab() int {
	if t.vocab != nil {
		return len(t.vocab.symbols)
	}
	return len(t.alphabet.symbols)
}

// Vocabulary is what the tokens show as, in order.
func (t *Task) Vocabulary() []string {
	all := make([]string, t.Vocab())
	for id := range all {
		all[id] = t.Symbol(int32(id))
	}
	return all
}

// EOS is the token that ends an answer.
func (t *Task) EOS() int32 {
	if t.vocab != nil {
		return t.vocab.eos
	}
	return t.alphabet.ids[symbolEOS]
}

// Symbol shows a token: the end as $, a filler as _, an unknown token as ?.
func (t *Task) Symbol(id int32) string {
	switch {
	case t.vocab == nil:
		return t.alphabet.symbols[id : id+1]
	case id == t.vocab.filler:
		return "_"
	case int(id) == len(t.vocab.symbols): // the end of what has none
		return "$"
	}
	return t.vocab.symbols[id]
}

// IsHint reports whether a token is a letter before a digit, which no answer is
// judged by.
func (t *Task) IsHint(id int32) bool { return t.cfg.hinted() && id > equalID }

// isDigit reports whether a token is a digit of a number.
func (t *Task) isDigit(id int32) bool {
	if t.vocab == nil {
		return strings.IndexByte(digits[:t.cfg.Base], t.alphabet.symbols[id]) >= 0
	}
	return t.vocab.digits[0] <= id && id < t.vocab.digits[1]
}

// Runs numbers the digits of each run of digits in a text from 1, and gives other
// tokens 0: the rows of an Abacus table without an offset (McLeish et al. 2024,
// section 3.1).
func (t *Task) Runs(tokens []int32) []int32 {
	rows := make([]int32, len(tokens))
	for i, id := range tokens {
		if !t.isDigit(id) {
			continue
		}
		rows[i] = 1
		if i > 0 {
			rows[i] += rows[i-1]
		}
	}
	return rows
}

// Letters are the names of entries of arrays, and what index hints are made of, in order.
func Letters() []string { return strings.Split(letters, "") }
