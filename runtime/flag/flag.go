// Package flag parses numbers on command lines, with error messages for people instead of the
// flag library's, which name types of Go. It also writes command lines for people to enter
// again.
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

// Numbers returns the options of a command line with numbers and times.
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

// Positive returns an error for a given flag that has a tag positive and is not above 0: 0
// would count as not given. The tag's value is an example.
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

// number maps a kind of numbers that parse sets; want describes them.
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

// Line writes words as a command line for a shell.
func Line(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Word(w)
	}
	return strings.Join(out, " ")
}

// Word quotes a word for the system's shell, if necessary.
func Word(word string) string { return wordFor(runtime.GOOS, word) }

// wordFor quotes a word for a Unix shell, or for the shells of Windows, whose paths have
// backslashes and which all know only double quotes.
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
