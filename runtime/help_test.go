package runtime

import (
	"regexp"
	"testing"
)

// TestHelpOfMistakes wants error messages to name the help of the right verb.
func TestHelpOfMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"train", "--lr", "3"}, "toy: unknown flag --lr (see ./toy train --help)\n"},
		{[]string{"eval", "--modus"}, "toy: unknown flag --modus, did you mean \"--mode\"? (see ./toy eval --help)\n"},
		{[]string{"lr"}, "toy: unexpected argument lr (see ./toy --help)\n"},
	} {
		if s := call(t, toyModel(), "", c.args...); s.code != 2 || s.err != c.want {
			t.Errorf("%q: exit %d\n%s", c.args, s.code, s.err)
		}
	}
}

// TestFlagsAreExplained wants help for every flag, and no internal field of a verb's struct
// among the flags.
func TestFlagsAreExplained(t *testing.T) {
	silent := regexp.MustCompile(`(?m)^ +(-\w, )?--[a-z-]+$`)
	for _, verb := range []string{"train", "eval", "solve", "bench", "info"} {
		s := call(t, toyModel(), "", verb, "--help")
		if found := silent.FindString(s.out); s.code != 0 || s.out == "" || found != "" {
			t.Errorf("%s --help, exit %d: %q is not explained", verb, s.code, found)
		}
	}
}
