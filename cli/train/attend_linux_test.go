package train

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAttended wants a program to stop and to continue with mlc, and to be asked to end when mlc
// is killed.
func TestAttended(t *testing.T) {
	const role = "MLC_TEST_ATTENDED"
	switch os.Getenv(role) {
	case "mlc":
		attend(os.Args[0], os.Args, append(os.Environ(), role+"=program"), os.Stdout)
		return
	case "program":
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println(os.Getpid())
		<-asked
		fmt.Println("asked")
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAttended$")
	cmd.Env = append(os.Environ(), role+"=mlc")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	lines.Scan()
	var child int
	if _, err := fmt.Sscan(lines.Text(), &child); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		signal  syscall.Signal
		stopped bool
	}{{syscall.SIGTSTP, true}, {syscall.SIGCONT, false}, {syscall.SIGTSTP, true}, {syscall.SIGCONT, false}} {
		cmd.Process.Signal(c.signal)
		for i, pid := range []int{cmd.Process.Pid, child} {
			eventually(t, fmt.Sprintf("process %d of mlc and its program is stopped: %t", i, c.stopped), func() bool { return stopped(t, pid) == c.stopped })
		}
	}
	cmd.Process.Kill()
	if lines.Scan(); lines.Text() != "asked" {
		t.Errorf("the program says %q", lines.Text())
	}
	if lines.Scan() {
		t.Errorf("the program goes on, and says %q", lines.Text())
	}
	cmd.Wait()
}

// stopped reports whether a process is stopped.
func stopped(t *testing.T, pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(state, "T")
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after 20 s: %s", what)
		}
	}
}
