// Package command has the simulator's command line: check and run, as commands of kong. The
// program ptxsim/cmd/ptxsim consists of them; another program may add them to its own.
//
// It reads flags, prints results and writes files. Package ptxfile loads the files and runs the
// kernels.
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

// A Shell is the program that runs a command.
type Shell struct {
	Context  context.Context // when it ends, the command fails with its cause
	Program  string          // the name in messages
	Out, Err io.Writer       // for results, and for everything else
	JSON     bool            // print results as objects, one per line
	Quiet    bool            // do not name written files

	// Temp writes data to a new file in dir and returns its path, or "" if it left no file.
	// Rename moves the file over another one. If nil, the system's functions are used.
	Temp   func(dir string, data []byte) (path string, err error)
	Rename func(from, to string) error
}

// ErrShown ends a command that has already printed its findings.
var ErrShown = errors.New("findings were printed")

// A UsageError is a mistake on the command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// await returns f's result, or the cause of the context's end if that comes first. f then
// continues in the background, so it must neither print nor write files.
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

// bad prints why a file cannot run.
func (s *Shell) bad(err error) error {
	var at *ptxfile.Error
	if !s.JSON || !errors.As(err, &at) {
		fmt.Fprintf(s.Err, "%s: %v\n", s.Program, err)
		return nil
	}
	return s.printJSON(at)
}

// finding prints a failure of a launch.
func (s *Shell) finding(f *ptxfile.Finding) error {
	if s.JSON {
		return s.printJSON(f)
	}
	f.Print(s.Err, "")
	return nil
}

// readUpTo reads at most so many bytes of a file, which may have no end.
func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// writeTemp is the default for Shell.Temp.
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
