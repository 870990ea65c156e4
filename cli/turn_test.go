package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/lock"
)

// TestTurn removes what killed processes have left, and waits for one that writes; where a
// folder is kept for long it writes and removes nothing.
func TestTurn(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	leave := func() {
		for _, name := range []string{".mlc-12", ".loss.svg.34", "page.html"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(want string) {
		t.Helper()
		if err := new(app).putFile(filepath.Join(dir, "page.html"), []byte("whole")); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(namesIn(t, dir), " "); got != want {
			t.Errorf("%s is left, want %s", got, want)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "page.html")); string(text) != "whole" || err != nil {
			t.Errorf("the page has %q, %v", text, err)
		}
	}
	leave()
	put("page.html")

	leave()
	held, err := lock.TryHere(dir)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(5*pause, held.Close)
	put("page.html")

	leave()
	if held, err = lock.TryHere(dir); err != nil {
		t.Fatal(err)
	}
	put(".loss.svg.34 .mlc-12 page.html")
	held.Close()
}

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
				if err := new(app).putFile(spec, []byte("arith 1\n")); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range 4 {
				var out, messages bytes.Buffer
				if code := Run(sourceTree(), []string{"plot", run, "--format", "svg"}, &out, &messages); code != exitOK {
					t.Error(messages.String())
				}
			}
		})
	}
	all.Wait()
	if got := fmt.Sprint(namesIn(t, dir)); got != "[a.arith attention-cross.svg bias-cross.svg]" {
		t.Errorf("%s is left", got)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}
