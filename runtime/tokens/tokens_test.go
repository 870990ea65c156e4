package tokens

import (
	"slices"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	characters, words, numbers := Rule{}, Rule{Words: true}, Rule{Numbers: 97}
	for _, c := range []struct {
		rule Rule
		text string
		want string // tokens separated by |, or the error
	}{
		{characters, "é 1²", "é| |1|²"},
		{words, " one  plus\ttwo ", "one|plus|two"},
		{words, "12+34 = 0", "12+34|=|0"},
		{numbers, "12+34 = 0", "12|+|34|=|0"},
		{numbers, "a1b96", "a|1|b|96"},
		{numbers, "é²7 --", "é²|7|--"},
		{numbers, "1 97", "97 is no whole number below 97"},
		{numbers, "x007", "007 is no whole number below 97"},
		{numbers, "99999999999999999999", "99999999999999999999 is no whole number below 97"},
	} {
		got, err := c.rule.Cut(c.text)
		text := strings.Join(got, "|")
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%+v cuts %q to %s, want %s", c.rule, c.text, text, c.want)
		}
		if err != nil {
			continue
		}
		joined := c.rule.Join(got)
		if again, err := c.rule.Cut(joined); err != nil || !slices.Equal(again, got) || c.rule.Count(joined) != len(got) {
			t.Errorf("%+v joins %q to %q, which are %d tokens %q", c.rule, got, joined, c.rule.Count(joined), again)
		}
		for rest := []byte(joined); len(rest) > 0; got = got[1:] {
			var token []byte
			if token, rest = c.rule.Next(rest); string(token) != got[0] {
				t.Fatalf("%+v: the next token of %q is %q", c.rule, got, token)
			}
		}
		if len(got) > 0 {
			t.Errorf("%+v: left are %q", c.rule, got)
		}
	}
}

func TestVocabulary(t *testing.T) {
	used := func(tokens ...string) map[string]bool {
		all := map[string]bool{}
		for _, x := range tokens {
			all[x] = true
		}
		return all
	}
	for _, c := range []struct {
		rule   Rule
		used   map[string]bool
		want   string
		digits int
	}{
		{Rule{}, used("=", "7", "²", "+", "0"), "0 7 + = ²", 2},
		{Rule{Words: true}, used("two", "12", "3", "one"), "3 12 one two", 1},
		{Rule{Numbers: 4}, used("=", "2", "+", "a"), "0 1 2 3 + = a", 4},
	} {
		all, digits := c.rule.Vocabulary(c.used)
		if got := strings.Join(all, " "); got != c.want || digits != c.digits {
			t.Errorf("%+v: %s, the first %d digits; want %s, %d", c.rule, got, digits, c.want, c.digits)
		}
	}
}

// TestSeparator wants one token, except for characters.
func TestSeparator(t *testing.T) {
	if got := (Rule{}).Separator(" -> "); len(got) != 4 {
		t.Errorf("as characters it is %q", got)
	}
	if got := (Rule{Words: true}).Separator(" -> "); !slices.Equal(got, []string{" -> "}) {
		t.Errorf("as a word it is %q", got)
	}
}
