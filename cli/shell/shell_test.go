package shell

import (
	"errors"
	"strings"
	"testing"
)

// TestUseColor colors messages that go to no terminal only if the user asks for it.
func TestUseColor(t *testing.T) {
	for flag, want := range map[string]bool{"always": true, "never": false, "auto": false} {
		if got := UseColor(flag, new(strings.Builder)); got != want {
			t.Errorf("%s: color is %v where no terminal is", flag, got)
		}
	}
}

// TestFindings goes on after findings, and ends with them.
func TestFindings(t *testing.T) {
	var f Findings
	broken := errors.New("broken")
	if err := errors.Join(f.Unless(nil), f.Err()); err != nil {
		t.Error(err)
	}
	if err := f.Unless(broken); err != broken || f.Err() != nil {
		t.Errorf("%v, %v", err, f.Err())
	}
	if err := f.Unless(ErrShown); err != nil || f.Err() != ErrShown {
		t.Errorf("%v, %v", err, f.Err())
	}
}

// TestExitStatus describes exit statuses, and tells the signals that mlc passes on from others.
func TestExitStatus(t *testing.T) {
	for status, c := range map[ExitStatus]struct {
		text        string
		interrupted bool
	}{1: {"exit status 1", false}, 137: {ErrKilled.Error(), false}, 130: {"exit status 130", true}, 143: {"exit status 143", true}} {
		if status.Error() != c.text || Interrupted(status) != c.interrupted {
			t.Errorf("%d: %q, interrupted %v", int(status), status.Error(), Interrupted(status))
		}
	}
}
