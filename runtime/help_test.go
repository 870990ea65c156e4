package runtime

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewriteHelp = flag.Bool("update", false, "rewrite the flags in the help of mlc")

// TestHelp wants mlc to show the flags that trainers have.
func TestHelp(t *testing.T) {
	for _, verb := range []string{"train", "eval", "solve", "bench"} {
		s := call(t, toyModel(), "", verb, "--help")
		_, flags, ok := strings.Cut(s.out, "\nFlags:\n")
		if s.code != 0 || !ok {
			t.Fatalf("%s --help: exit %d\n%s%s", verb, s.code, s.out, s.err)
		}
		path := filepath.Join("..", "cli", "trainer", verb+".txt")
		if *rewriteHelp {
			if err := os.WriteFile(path, []byte(flags), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if committed, err := os.ReadFile(path); err != nil || string(committed) != flags {
			t.Errorf("%s is not what the trainer's help says (go test ./runtime -run TestHelp -update): %v", path, err)
		}
	}
}

// TestHelpOfMistakes wants the help that is named to be that of the verb.
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
