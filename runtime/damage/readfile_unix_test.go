//go:build unix

package damage

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRead refuses a named pipe, which would block for ever.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := At(pipe).Read(); !Is(err) || !strings.Contains(err.Error(), pipe+" is damaged: it is a named pipe") {
		t.Error(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 30<<30); err == nil { // a sparse file
		if _, err := At(large).Read(); !Is(err) || !strings.Contains(err.Error(), large+" is damaged: it has more than 1024 MiB") {
			t.Error(err)
		}
	}
	if text, err := At(file).ReadUpTo(2); string(text) != "{}" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := At(file).ReadUpTo(1); !Is(err) {
		t.Error(err)
	}
	if text, err := At(file).Read(); string(text) != "{}" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := At(filepath.Join(dir, "none")).Read(); !os.IsNotExist(err) {
		t.Error(err)
	}
}
