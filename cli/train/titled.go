package train

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flag"
)

// A titled is where a training of several prints its results. Its name comes above them, if
// there are any: the messages that say it go elsewhere.
type titled struct {
	to    io.Writer
	name  string
	begun bool
}

func (t *titled) Write(b []byte) (int, error) {
	if !t.begun && len(b) > 0 {
		t.begun = true
		if _, err := fmt.Fprintf(t.to, "%s:\n", t.name); err != nil {
			return 0, err
		}
	}
	return t.to.Write(b)
}

// results is where a training prints its results: on a terminal under the message with its
// name, elsewhere under its name. JSON says itself which run it is of.
func (s *series) results(j *job) io.Writer {
	if f, ok := s.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) || s.JSON {
		return s.Out
	}
	return &titled{to: s.Out, name: j.Point.Name}
}

// fewDirs is how many run directories a hint lists.
const fewDirs = 4

// next says what shows the results again: the table and the plots.
func (s *series) next() {
	var dirs []string
	for i := range s.jobs {
		if j := &s.jobs[i]; j.state == done {
			dirs = append(dirs, s.flags.dir(j))
		}
	}
	if len(dirs) == 0 || s.quiet {
		return
	}
	all := flag.Line(dirs)
	if s.flags.Out != "" && len(dirs) > 1 {
		all = flag.Word(s.flags.Out) + "/*"
	} else if len(dirs) > fewDirs {
		all = flag.Line(dirs[:fewDirs]) + " …"
	}
	s.Say("next: %s %s\n      %s %s", shell.Hint("plot", "--kind", "table"), all, shell.Hint("plot"), all)
}
