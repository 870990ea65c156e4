// Package damage tells files that are not what was written from files that cannot be
// read, which may be whole. What libraries say of the first it says in words for
// people, with the line.
package damage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
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

// Open opens a file for reading: an Error where a device or a named pipe is at path, which
// to read may take for ever. It looks at what it has opened, which nobody can exchange.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // for a pipe it would wait
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		what := "a device"
		if info.Mode()&fs.ModeNamedPipe != 0 {
			what = "a named pipe"
		}
		err = In(path, Errorf("it is %s", what))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// MaxFile is the size of the largest file of a run that is read whole, but for checkpoints.
const MaxFile = 1 << 30

// ReadFile reads what a run has left: an Error where that is Open's, or too large.
func ReadFile(path string) ([]byte, error) { return ReadUpTo(path, MaxFile) }

// ReadUpTo is ReadFile for files that are to have no more bytes.
func ReadUpTo(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	large := In(path, Errorf("it has more than %d MiB", most>>20))
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		return nil, large
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1)) // it may grow meanwhile
	if err == nil && int64(len(text)) > most {
		return nil, large
	}
	return text, err
}

// ReadJSON decodes the file at path: an Error where that is not JSON of to's kind.
func ReadJSON(path string, to any) error {
	text, err := ReadFile(path)
	if err != nil {
		return err
	}
	return In(path, JSON(text, to))
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
