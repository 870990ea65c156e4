// Package flag reads numbers on command lines, and says in words for people what is no
// number: what the library of flags says is about types of Go. It also writes command
// lines, for people to enter again.
package flag

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"
)

// Numbers are the options of a command line that has numbers and times.
func Numbers() []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.Int, whole("a whole number")),
		kong.KindMapper(reflect.Int64, whole("a whole number")),
		kong.KindMapper(reflect.Uint64, number("a whole number from 0 on", func(v reflect.Value, text string) error {
			n, err := strconv.ParseUint(text, 10, v.Type().Bits())
			v.SetUint(n)
			return err
		})),
		kong.KindMapper(reflect.Float64, number("a number, such as 8e18", func(v reflect.Value, text string) error {
			x, err := strconv.ParseFloat(text, v.Type().Bits())
			v.SetFloat(x)
			return err
		})),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), number("a time, such as 90s, 5m or 2h, of 290 years at most", func(v reflect.Value, text string) error {
			d, err := time.ParseDuration(text)
			v.SetInt(int64(d))
			return err
		})),
	}
}

// Positive wants numbers above 0 of the flags that are given and have a tag positive, whose
// value is an example: 0 would pass for a flag that is not given.
func Positive(flags []*kong.Flag) error {
	for _, f := range flags {
		if !f.Set || !f.Tag.Has("positive") {
			continue
		}
		v := f.Target
		if v.CanInt() && v.Int() > 0 || v.CanFloat() && v.Float() > 0 && !math.IsInf(v.Float(), 0) {
			continue
		}
		return fmt.Errorf("--%s %v: want a number above 0, such as %s", f.Name, v, f.Tag.Get("positive"))
	}
	return nil
}

func whole(want string) kong.Mapper {
	return number(want, func(v reflect.Value, text string) error {
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return err
	})
}

// number is a kind of numbers that parse sets; want says what it takes.
func number(want string, parse func(v reflect.Value, text string) error) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto(want, &text); err != nil {
			return err
		}
		if parse(target, text) != nil {
			return fmt.Errorf("%.60q: want %s", text, want)
		}
		return nil
	})
}

// Line is words as a shell takes them.
func Line(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Word(w)
	}
	return strings.Join(out, " ")
}

// Word is a word as the system's shell takes it.
func Word(word string) string { return wordFor(runtime.GOOS, word) }

// wordFor is a word for a shell of Unix, or for those of Windows, where paths have backslashes
// and double quotes are the ones that each shell knows.
func wordFor(system, word string) string {
	plain, quote := "%+,-./:=@_", func(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }
	if system == "windows" {
		plain, quote = "+,-./:=@_~\\", func(w string) string { return `"` + strings.ReplaceAll(w, `"`, `\"`) + `"` }
	}
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(plain, r)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return quote(word)
}
