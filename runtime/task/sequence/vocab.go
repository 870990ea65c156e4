package sequence

import (
	"strings"

	"github.com/arithlang/mlc/runtime/task"
)

const symbolSOS = '^'

// letters are the letters of index hints, in this order (McLeish et al. 2024, arXiv:2405.17399,
// the released code): ASCII without the digits and operators, then Greek.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwyz!@£#$%^&*()~?.,<>{}[]:;/|βΓΔδεζηθκΛλμΞξΠπΣςτΦφχΨψΩω"

var hints = []rune(letters)

// Tokens of the vocabularies of the released code. Spaces are fillers, so the token spaceID is
// never written.
const (
	PadID   = 0
	startID = 2
	eosID   = 3
	zeroID  = 4 // digits are 4 to 13
	equalID = 17
	spaceID = 18
)

// A Vocabulary maps symbols to tokens and back.
type Vocabulary struct {
	own   task.Vocabulary
	ascii [128]int32
	other map[rune]int32
	Words map[string]int32 // of a file whose tokens are not characters; nil: they are characters

	Endless bool // no token ends a sequence
}

// Vocabulary returns the tokens for package task.
func (v *Vocabulary) Vocabulary() *task.Vocabulary { return &v.own }

// A Reader is a Family with its own vocabulary.
type Reader interface {
	Vocabulary(c *task.Config) *Vocabulary
}

// New returns the vocabulary of a task's sequences: the released code's character tokenizers
// for numbers, index hints and sorting (McLeish et al. 2024), the symbols in use, or a file's
// tokens.
func New(c *task.Config, k *task.Kind) task.Sequences {
	if f, ok := k.Family.(Reader); ok {
		return f.Vocabulary(c)
	}
	if c.Used {
		return used(c, k)
	}
	const specials, number = " ?^$", "0123456789"
	own, more, hint := "+-x= ", "", int32(task.NoHint)
	switch {
	case c.Kind == "sort":
		own, more = "D,:= ", strings.NewReplacer("D", "", ",", "", ":", "").Replace(letters)
	case c.Hinted():
		more = letters
	}
	if c.Hinted() {
		hint = equalID + 1
	}
	v := Of(strings.Split(specials+number+own+more, ""), eosID, zeroID, 10)
	v.own.Hint = hint
	for id, symbol := range v.own.Symbols {
		if r := []rune(symbol)[0]; id >= zeroID && id != spaceID { // the others are no symbol of a text
			v.Set(r, int32(id))
		}
	}
	if c.Started {
		v.Set(symbolSOS, startID)
	}
	return v
}

// used returns only the tokens that problems use: the digits of the base by value, the
// operator, the start, the = and the end, if answers have one.
func used(c *task.Config, k *task.Kind) *Vocabulary {
	text := task.Digits[:c.Base] + strings.ReplaceAll(k.Op, "*", "x")
	if c.Started {
		text += string(symbolSOS)
	}
	text += "="
	eos := int32(len(text))
	if !c.Unended {
		text += "$"
	}
	v := Of(strings.Split(text, ""), eos, 0, c.Base)
	v.own.Filler = -1
	for id, r := range text {
		v.Set(r, int32(id))
	}
	return v
}

// Of returns a vocabulary of symbols. So many digits start at first. Symbol 0 is the filler.
func Of(symbols []string, eos int32, first, digits int) *Vocabulary {
	v := &Vocabulary{other: map[rune]int32{}}
	v.own = task.Vocabulary{Symbols: symbols, EOS: eos, Hint: task.NoHint, Digits: make([]bool, first+digits)}
	for id := first; id < first+digits; id++ {
		v.own.Digits[id] = true
	}
	return v
}

// Set gives a symbol its token.
func (v *Vocabulary) Set(r rune, id int32) {
	if r < 128 {
		v.ascii[r] = id
	} else {
		v.other[r] = id
	}
}

// ID is the token of a symbol.
func (v *Vocabulary) ID(r rune) int32 {
	if r < 128 {
		return v.ascii[r]
	}
	return v.other[r]
}

// Letter is letter n, cyclic.
func Letter(n int) rune { return hints[n%task.NumLetters] }

// Letters returns the letters of array entries and index hints, in order.
func Letters() []string { return strings.Split(letters, "") }
