// Package command is the simulator on a command line: check and run, as commands of kong.
// The program ptxsim/cmd/ptxsim consists of them; another program may have them among its
// own.
//
// Package ptxfile, before it, loads files and runs kernels. Here flags are read, results
// printed and files written.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/arithlang/mlc/ptxsim/ptxfile"
)

// A Shell is the program that has a command.
type Shell struct {
	Context  context.Context // when it ends, its cause is the error of the command
	Program  string          // that messages are of
	Out, Err io.Writer       // for results, and for the rest
	JSON     bool            // results are objects, one a line
	Quiet    bool            // files that were written are not named

	// Temp writes a new file in a folder and returns its path, "" if there is none; Rename
	// gives it the place of another. Nil: as the system does it.
	Temp   func(dir string, data []byte) (path string, err error)
	Rename func(from, to string) error
}

// ErrShown ends a command that has printed what is wrong.
var ErrShown = errors.New("findings were printed")

// A UsageError is a mistake on the command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what the mistake is.
func (e UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// await returns what f returns, or the cause of the context's end if that comes first. Then
// f is left to itself, so it neither prints nor writes files.
func await[T any](s *Shell, f func() (T, error)) (value T, err error) {
	if s.Context.Err() != nil {
		return value, context.Cause(s.Context)
	}
	ended := make(chan struct{})
	var made T
	var failed error
	go func() {
		made, failed = f()
		close(ended)
	}()
	select {
	case <-ended:
		return made, failed
	case <-s.Context.Done():
		return value, context.Cause(s.Context)
	}
}

// printJSON writes one object on one line.
func (s *Shell) printJSON(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// bad prints why a file cannot be run.
func (s *Shell) bad(err error) error {
	var at *ptxfile.Error
	if !s.JSON || !errors.As(err, &at) {
		fmt.Fprintf(s.Err, "%s: %v\n", s.Program, err)
		return nil
	}
	return s.printJSON(at)
}

// finding prints what went wrong in a launch.
func (s *Shell) finding(f *ptxfile.Finding) error {
	if s.JSON {
		return s.printJSON(f)
	}
	f.Print(s.Err, "")
	return nil
}

// readUpTo reads a file, which may have no end, up to so many bytes.
func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// writeTemp is Temp as the system does it.
func writeTemp(dir string, data []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, ".ptxsim-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	return f.Name(), errors.Join(err, f.Close())
}
