package sequence

import (
	"strings"

	"github.com/arithlang/mlc/runtime/task"
)

const symbolSOS = '^'

// letters are what index hints are made of, in this order (McLeish et al. 2024,
// arXiv:2405.17399, the released code): ASCII without the digits and operators,
// then Greek.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwyz!@£#$%^&*()~?.,<>{}[]:;/|βΓΔδεζηθκΛλμΞξΠπΣςτΦφχΨψΩω"

var hints = []rune(letters)

// The tokens of sequences that every vocabulary has. Spaces are fillers, so that
// the token of the symbol for a space is never made.
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
	Words map[string]int32 // of a file whose tokens are no characters; nil: they are
}

// Vocabulary is the tokens as every model has them.
func (v *Vocabulary) Vocabulary() *task.Vocabulary { return &v.own }

// A Reader is a Family that has tokens of its own.
type Reader interface {
	Vocabulary(c *task.Config) *Vocabulary
}

// New is the vocabulary of a task's sequences: McLeish et al. 2024, the released
// code's character tokenizers for numbers, index hints and sorting; or the tokens of
// a file.
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
		if r := []rune(symbol)[0]; id >= zeroID && id != spaceID { // others stand for no symbol of a text
			v.Set(r, int32(id))
		}
	}
	if c.Started {
		v.Set(symbolSOS, startID)
	}
	return v
}

// used is the tokens that problems have: the digits of the base by value, the
// operator, the = and, where answers have an end, that.
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

// Of is a vocabulary of symbols, of which so many from one on are digits. The first is the
// filler.
func Of(symbols []string, eos int32, first, digits int) *Vocabulary {
	v := &Vocabulary{other: map[rune]int32{}}
	v.own = task.Vocabulary{Symbols: symbols, EOS: eos, Hint: task.NoHint, Digits: make([]bool, first+digits)}
	for id := first; id < first+digits; id++ {
		v.own.Digits[id] = true
	}
	return v
}

// Set makes a token that of a symbol.
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

// Letter is number n of the letters, the first behind the last.
func Letter(n int) rune { return hints[n%task.NumLetters] }

// Letters are the names of entries of arrays, and what index hints are made of, in order.
func Letters() []string { return strings.Split(letters, "") }
