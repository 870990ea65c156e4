package flag

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestShowValues shows the choices and defaults of flags and arguments.
func TestShowValues(t *testing.T) {
	var line struct {
		To    string `help:"Form." enum:"python,numpy" required:"" placeholder:"FORM"`
		Color string `help:"Color." enum:"auto,never" default:"auto"`
		Mode  string `help:"Mode." enum:"greedy,settle," default:""`
		Name  string `help:"Name."`
		Shell string `arg:"" help:"Shell." enum:"bash,zsh"`
	}
	var out strings.Builder
	parser, err := kong.New(&line, kong.Name("x"), kong.Writers(&out, &out), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	ShowValues(parser)
	_, err = parser.Parse([]string{"bash"})
	if err == nil || err.Error() != "missing flags: --to=python|numpy" {
		t.Errorf("without --to: %v", err)
	}
	parser.Parse([]string{"--help"})
	for _, want := range []string{"<bash|zsh> ", "--to=python|numpy ", "--color=auto|never ", "Color. Default: auto.\n", "--mode=greedy|settle ", "Mode.\n", "--name=STRING "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if _, err := parser.Parse([]string{"zsh", "--to=numpy", "--mode=settle"}); err != nil || line.To != "numpy" || line.Mode != "settle" || line.Shell != "zsh" {
		t.Errorf("%+v: %v", line, err)
	}
}
