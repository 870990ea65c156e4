// Package damage tells files that are not what was written from files that cannot be
// read, which may be whole. What libraries say of the first it says in words for
// people, with the line. A Path says where a file is, and what it may not be outside of.
package damage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// An Error is about contents that are not what was written.
type Error struct{ what string }

func (e *Error) Error() string { return e.what }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Is reports whether an error is about what is in a file.
func Is(err error) bool { return errors.As(err, new(*Error)) }

// In is an error about the file at path; it stays an Error if it is one.
func In(path string, err error) error {
	if err == nil || !Is(err) {
		return err
	}
	return Errorf("%s is damaged: %v", path, err)
}

// JSON decodes text that programs of any version have written.
func JSON(text []byte, to any) error {
	return inWords(text, json.Unmarshal(text, to))
}

// StrictJSON decodes one value without members that to does not have.
func StrictJSON(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil && d.More() {
		err = errors.New("more")
	}
	return inWords(text, err)
}

// inWords is what package json says, as an Error with the line.
func inWords(text []byte, err error) error {
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at, what := int64(len(text)), "it is not what this program writes"
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return Errorf("it is empty")
	case strings.Contains(err.Error(), "unexpected end of JSON") || strings.Contains(err.Error(), "unexpected EOF"):
		what = "it ends too early"
	case errors.As(err, &syntax):
		at, what = syntax.Offset, "this is no JSON: "+excerpt(text, syntax.Offset)
	case errors.As(err, &kind):
		at, what = kind.Offset, fmt.Sprintf("%s cannot be %s", member(kind.Field), article(kind.Value))
	case errors.As(err, new(*time.ParseError)):
		at, what = 0, "a time is not written as one"
	case strings.Contains(err.Error(), "unknown field"):
		_, name, _ := strings.Cut(err.Error(), "unknown field ")
		at, what = 0, "this program knows no "+name
	default:
		at = 0
	}
	if at == 0 || bytes.Count(bytes.TrimSpace(text), []byte("\n")) == 0 {
		return Errorf("%s", what)
	}
	return Errorf("line %d: %s", 1+bytes.Count(text[:min(at, int64(len(text)))], []byte("\n")), what)
}

// excerpt quotes what stands at an offset, which is behind the first wrong byte.
func excerpt(text []byte, offset int64) string {
	rest := text[max(min(offset, int64(len(text)))-1, 0):]
	rest, _, _ = bytes.Cut(rest, []byte("\n"))
	return fmt.Sprintf("%.20q", rest[:min(len(rest), 20)])
}

func member(name string) string {
	return cmp.Or(name, "it")
}

// article makes of what package json calls a value a noun.
func article(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	if strings.HasPrefix(value, "array") || strings.HasPrefix(value, "object") {
		return "an " + value
	}
	return "a " + value
}
