package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
)

// TestSeveralAtOnce lets verbs write to the same folder at once.
func TestSeveralAtOnce(t *testing.T) {
	run := calibrationDir(t)
	dir := filepath.Join(run, "plots")
	spec := filepath.Join(dir, "a.arith")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spec, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 40 {
				if err := paths.Put(t.Context(), spec, []byte("arith 2\n")); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range 4 {
				var out, messages bytes.Buffer
				if code := Run(sourceTree(), []string{"plot", run, "--format", "svg"}, &out, &messages); code != shell.ExitOK {
					t.Error(messages.String())
				}
			}
		})
	}
	all.Wait()
	found, err := os.ReadDir(dir)
	var left []string
	for _, f := range found {
		left = append(left, f.Name())
	}
	if got := fmt.Sprint(left); err != nil || got != "[a.arith attention-cross.svg bias-cross.svg]" {
		t.Errorf("%s is left, %v", got, err)
	}
}
