//go:build unix

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// endless is a kernel that counts practically forever.
const endless = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{
	.reg .b64 %n;
	.reg .pred %p;
	mov.b64 %n, 0;
loop:
	add.s64 %n, %n, 1;
	setp.lt.s64 %p, %n, 1000000000000;
	@%p bra loop;
	ret;
}
`

// TestSignalsEndVerbs sends a signal to mlc while it waits for a pipe, where no spec can
// be, or computes without end. mlc is ready once it has opened the pipe.
func TestSignalsEndVerbs(t *testing.T) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // under nohup the child would ignore it
	defer signal.Stop(hangUps)
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	kernel := filepath.Join(dir, "endless.ptx")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(kernel, []byte(endless), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string
		signal syscall.Signal
		code   int
		after  string // written before the pipe is closed; "" leaves it open
	}{
		"plot":     {[]string{"plot", pipe}, syscall.SIGTERM, 143, ""},
		"ptx":      {[]string{"ptx", "check", pipe}, syscall.SIGTERM, 143, ""},
		"computes": {[]string{"ptx", "run", kernel, "--max-steps", "1000000000000", "--arg", "in:" + pipe}, syscall.SIGTERM, 143, "data"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("mlc", c.args...)
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if c.after != "" {
				w.WriteString(c.after)
				w.Close()
			}
			cmd.Process.Signal(c.signal)
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.code || said.String() != "mlc: interrupted\n" {
				t.Errorf("exit code %d, says %q", got, said.String())
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 2 {
		t.Errorf("left are %v", left)
	}
}

// TestSignalsEndReadingInput interrupts verbs that read standard input.
func TestSignalsEndReadingInput(t *testing.T) {
	const more = 1<<16 + 1 // more than a pipe holds: when it is written, mlc is reading
	for _, args := range [][]string{{"fmt", "-"}, {"lsp"}} {
		cmd := exec.Command("mlc", args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(bytes.Repeat([]byte("\n"), more)); err != nil {
			t.Fatal(err)
		}
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 130 || said.String() != "mlc: interrupted\n" {
			t.Errorf("%v: exit code %d, says %q", args, got, said.String())
		}
	}
}
