//go:build unix

package shell

import (
	"context"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/runtime/interrupt"
)

// TestInterruptEndsCommands wants an interrupt to reach a command and its children.
func TestInterruptEndsCommands(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	sh := &Shell{Context: ctx}
	cmd := sh.Command("sh", "-c", "echo ready; sleep 100; echo over")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, len("ready\n")))
	cancel(interrupt.Error{Signal: syscall.SIGTERM})
	if n, err := out.Read(make([]byte, 10)); n > 0 || err == nil {
		t.Errorf("went on")
	}
	if err := sh.Ended(cmd.Wait()); err != (interrupt.Error{Signal: syscall.SIGTERM}) {
		t.Errorf("ended with %v", err)
	}
}
