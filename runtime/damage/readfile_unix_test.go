//go:build unix

package damage

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadFile reads no named pipe, for which it would wait for ever.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(pipe); !Is(err) || !strings.Contains(err.Error(), pipe+" is damaged: it is a named pipe") {
		t.Error(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 30<<30); err == nil { // it has holes alone
		if _, err := ReadFile(large); !Is(err) || !strings.Contains(err.Error(), large+" is damaged: it has more than 1024 MiB") {
			t.Error(err)
		}
	}
	if text, err := ReadUpTo(file, 2); string(text) != "{}" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadUpTo(file, 1); !Is(err) {
		t.Error(err)
	}
	if text, err := ReadFile(file); string(text) != "{}" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}
