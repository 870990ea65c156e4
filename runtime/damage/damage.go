// Package damage distinguishes files whose content is not as written from files that cannot be
// read, which may be intact. It describes damage in words for people, with the line. A Path is
// the place of a file, perhaps confined to a root.
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

// An Error means that the content of a file is not as written.
type Error struct{ what string }

func (e *Error) Error() string { return e.what }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Is reports whether err is about the content of a file.
func Is(err error) bool { return errors.As(err, new(*Error)) }

// In adds the file at path to an Error. It returns other errors unchanged.
func In(path string, err error) error {
	if err == nil || !Is(err) {
		return err
	}
	return Errorf("%s is damaged: %v", path, err)
}

// JSON decodes text that any version of the programs may have written.
func JSON(text []byte, to any) error {
	return inWords(text, json.Unmarshal(text, to))
}

// StrictJSON decodes one value and refuses unknown members.
func StrictJSON(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil && d.More() {
		err = errors.New("more")
	}
	return inWords(text, err)
}

// inWords translates an error of package json into an Error with the line.
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

// excerpt quotes the text at an offset, which is one after the first wrong byte.
func excerpt(text []byte, offset int64) string {
	rest := text[max(min(offset, int64(len(text)))-1, 0):]
	rest, _, _ = bytes.Cut(rest, []byte("\n"))
	return fmt.Sprintf("%.20q", rest[:min(len(rest), 20)])
}

func member(name string) string {
	return cmp.Or(name, "it")
}

// article adds an article to package json's name of a value.
func article(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	if strings.HasPrefix(value, "array") || strings.HasPrefix(value, "object") {
		return "an " + value
	}
	return "a " + value
}
