// Package tokens cuts the text of problems in a file into tokens. It imports only the standard
// library: the compiler uses it to count what a program reads with it.
package tokens

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Rule defines tokens. For the zero Rule each character is a token.
type Rule struct {
	Words   bool // text between spaces is a token
	Numbers int  // if not 0: like Words, and each whole number below this is a separate token
}

// Cut returns the tokens of a text. The error names text that is no token.
func (r Rule) Cut(text string) ([]string, error) {
	if r == (Rule{}) {
		return strings.Split(text, ""), nil
	}
	var out []string
	for _, word := range strings.Fields(text) {
		if r.Numbers == 0 {
			out = append(out, word)
			continue
		}
		for word != "" {
			n := run(word)
			if part := word[:n]; digit(part[0]) && !r.number(part) {
				return nil, fmt.Errorf("%s is no whole number below %d", part, r.Numbers)
			}
			out, word = append(out, word[:n]), word[n:]
		}
	}
	return out, nil
}

// run returns the length of the digits, or of the other characters, at the beginning of a word.
func run(word string) int {
	n := 1
	for n < len(word) && digit(word[n]) == digit(word[0]) {
		n++
	}
	return n
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// number reports whether digits are a token: a number can be written in only one way.
func (r Rule) number(digits string) bool {
	n, err := strconv.Atoi(digits)
	return err == nil && n < r.Numbers && strconv.Itoa(n) == digits
}

// Separator returns the tokens of the text between prompt and answer: its characters, or all of
// it as one.
func (r Rule) Separator(text string) []string {
	if r == (Rule{}) {
		return strings.Split(text, "")
	}
	return []string{text}
}

// Join returns the text of tokens, separated by spaces unless they are characters.
func (r Rule) Join(tokens []string) string {
	if r == (Rule{}) {
		return strings.Join(tokens, "")
	}
	return strings.Join(tokens, " ")
}

// Next returns the first token of a joined text, and the text after it.
func (r Rule) Next(text []byte) (token, rest []byte) {
	if r == (Rule{}) {
		_, n := utf8.DecodeRune(text)
		return text[:n], text[n:]
	}
	for i, c := range text {
		if c == ' ' {
			return text[:i], text[i+1:]
		}
	}
	return text, nil
}

// Count returns the number of tokens in a joined text.
func (r Rule) Count(text string) int {
	switch {
	case r == (Rule{}):
		return utf8.RuneCountInString(text)
	case text == "":
		return 0
	}
	return strings.Count(text, " ") + 1
}

// Vocabulary orders the used tokens. Digits come first: all numbers below Numbers, or the used
// digits. The rest follows, sorted by bytes. Abacus positions treat the first ones as digits.
func (r Rule) Vocabulary(used map[string]bool) (all []string, digits int) {
	for n := range r.Numbers {
		all = append(all, strconv.Itoa(n))
	}
	if r.Numbers == 0 {
		for d := '0'; d <= '9'; d++ {
			if used[string(d)] {
				all = append(all, string(d))
			}
		}
	}
	digits = len(all)
	for t := range used {
		if !r.Digit(t) {
			all = append(all, t)
		}
	}
	slices.Sort(all[digits:])
	return all, digits
}

// Digit reports whether a token is one of the digits of a vocabulary.
func (r Rule) Digit(token string) bool {
	if r.Numbers > 0 {
		return r.number(token)
	}
	return len(token) == 1 && digit(token[0])
}
