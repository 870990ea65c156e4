package train

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/interrupt"
)

// attend runs a program to its end, with this terminal's input and errors, an environment,
// and out for its results. It passes signals on, and gives the program the time to save. Where mlc
// is killed, the program is asked to end; where mlc is stopped, it stops too.
func attend(path string, argv, env []string, out io.Writer) error {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr, SysProcAttr: shell.Bound()}
	signals, stop := interrupt.Notify(2)
	defer stop()
	stops, unstop := shell.Stops()
	defer unstop()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	debug.FreeOSMemory() // the compiler's memory is for the program
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot run %s: %w", path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	asked := shell.ExitStatus(shell.ExitOK)
	for {
		select {
		case s := <-signals:
			if asked == shell.ExitOK {
				asked = shell.ExitStatus(interrupt.Error{Signal: s.(syscall.Signal)}.ExitCode())
			}
			cmd.Process.Signal(s) // it may have just ended
		case <-stops:
			shell.Suspend(cmd.Process)
		case err := <-ended:
			var exit *exec.ExitError
			switch {
			case asked != shell.ExitOK:
				return asked
			case errors.As(err, &exit):
				return shell.ExitOf(exit)
			case err != nil:
				return fmt.Errorf("cannot run %s: %w", path, err)
			}
			return nil
		}
	}
}
