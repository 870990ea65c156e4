package train

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flag"
)

// A titled writes the results of one training of several. It writes the training's name
// above them, since the messages with the name may go elsewhere.
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

// results returns the writer for a training's results. On a terminal they follow a message
// with the name. Elsewhere they have the name as a title, except JSON, which contains it.
func (s *series) results(j *job) io.Writer {
	if f, ok := s.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) || s.JSON {
		return s.Out
	}
	return &titled{to: s.Out, name: j.Point.Name}
}

// fewDirs is the largest number of run directories in a hint.
const fewDirs = 4

// next prints commands that show the results again.
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
