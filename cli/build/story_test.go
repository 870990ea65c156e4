package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/golden"
)

// A teller draws the text of the starter gpt from a grammar.
type teller struct{ state uint64 }

// pick draws from words that | separates.
func (t *teller) pick(words string) string {
	all := strings.Split(words, "|")
	return all[t.below(len(all))]
}

func (t *teller) below(n int) int {
	t.state = t.state*6364136223846793005 + 1442695040888963407
	return int(t.state>>33) % n
}

const (
	names  = "FRIAR|NURSE|CAPTAIN|MILLER|DUCHESS|STEWARD|PIPER|WIDOW"
	places = "the mill|the harbour|the old bridge|the market|the north gate|the chapel|the orchard|the river"
	things = "lantern|letter|barrel|bell|horse|ring|loaf|key|ladder|cloak|candle|boat"
	traits = "broken|silver|heavy|little|wooden|black|borrowed|rusty|golden|empty"
	verbs  = "carr|stud|bur"                             // … y of several, ies of one
	acts   = "find|keep|bring|sell|hide|paint|want|hold" // … s of one
	weeks  = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
	counts = "two|three|four|five|six|seven|eight|nine"
)

// noun is a thing, or several, and whether it is several.
func (t *teller) noun() (text string, several bool) {
	trait := ""
	if t.below(2) == 0 {
		trait = t.pick(traits) + " "
	}
	thing := t.pick(things)
	switch t.below(3) {
	case 0:
		if thing == "loaf" {
			thing = "loave"
		}
		return t.pick(counts) + " " + trait + thing + "s", true
	case 1:
		return "the " + trait + thing, false
	}
	if a := trait + thing; strings.Contains("aeiou", a[:1]) {
		return "an " + a, false
	}
	return "a " + trait + thing, false
}

// verb agrees with its subject.
func (t *teller) verb(several bool) string {
	stem, one, more := t.pick(acts), "s", ""
	if t.below(4) == 0 {
		stem, one, more = t.pick(verbs), "ies", "y"
	}
	if several {
		return stem + more
	}
	return stem + one
}

// someone is a subject: a person who is not the speaker, or several.
func (t *teller) someone(speaker string) (text string, several bool) {
	other := speaker
	for other == speaker {
		other = t.pick(names)
	}
	name := "the " + strings.ToLower(other)
	switch t.below(4) {
	case 0:
		return name + " and I", true
	case 1:
		return "they", true
	}
	return name, false
}

func (t *teller) clause(speaker string) string {
	who, several := t.someone(speaker)
	what, _ := t.noun()
	text := who + " " + t.verb(several) + " " + what
	if t.below(2) == 0 {
		text += " " + t.pick("near|behind|at|beyond") + " " + t.pick(places)
	}
	return text
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func (t *teller) sentence(speaker string) string {
	switch t.below(6) {
	case 0:
		what, several := t.noun()
		is, it := "is", "it"
		if several {
			is, it = "are", "them"
		}
		return fmt.Sprintf("Where %s %s? I left %s at %s.", is, what, it, t.pick(places))
	case 1:
		return fmt.Sprintf("On %s %s, because %s.", t.pick(weeks), t.clause(speaker), t.clause(speaker))
	case 2:
		return fmt.Sprintf("If %s, then %s!", t.clause(speaker), t.clause(speaker))
	case 3:
		a, b := 1+t.below(9), 1+t.below(9)
		return fmt.Sprintf("I counted %d and %d, which makes %d.", a, b, a+b)
	case 4:
		return fmt.Sprintf("%s, and yet %s.", capital(t.clause(speaker)), t.clause(speaker))
	}
	return capital(t.clause(speaker)) + "."
}

// tell writes a text of at least so many bytes.
func tell(bytes int) string {
	t := &teller{state: 1}
	var b strings.Builder
	speaker := ""
	for scene := 1; b.Len() < bytes; scene++ {
		fmt.Fprintf(&b, "Scene %d. %s.\n\n", scene, capital(t.pick(places)))
		for range 6 + t.below(8) {
			for before := speaker; speaker == before; {
				speaker = t.pick(names)
			}
			fmt.Fprintf(&b, "%s: ", speaker)
			for n := range 1 + t.below(4) {
				if n > 0 {
					b.WriteString(" ")
				}
				b.WriteString(t.sentence(speaker))
			}
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// TestStory wants the text of the starter gpt to be what the grammar writes.
func TestStory(t *testing.T) {
	text := tell(100_000)
	golden.Compare(t, "starter/gpt.txt", text)
	if len(text) > 120_000 {
		t.Errorf("the text has %d bytes", len(text))
	}
}
