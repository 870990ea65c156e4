package look

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// CheckFunction returns a shell.UsageError if the model has no function of that name. The
// name may be "".
func CheckFunction(p *compiler.Program, name string) error {
	var names []string
	for _, t := range p.Trainings() {
		for _, e := range t.Lowered.Entries {
			for _, s := range e.Steps {
				if !slices.Contains(names, s.Routine.Name) {
					names = append(names, s.Routine.Name)
				}
			}
		}
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return shell.Usagef("the model has no function %q: %s", name, diag.DidYouMean(name, names, "functions are"))
}

// printStage prints a program at a stage of its compilation.
func printStage(sh *shell.Shell, p *compiler.Program, stage, function string, on OnCard) error {
	switch {
	case sh.JSON && stage == launchesStage:
		return printLaunches(sh, p, function, on)
	case sh.JSON && stage == trafficStage:
		return printTraffic(sh, p, function)
	}
	text, err := shell.Await(sh, func() (string, error) { return stageText(p, stage, function, on) })
	if err != nil {
		return err
	}
	return printText(sh, stage, text)
}

// PrintResolved prints the resolved form of a spec, even if the compiler does not support
// all of it yet.
func PrintResolved(sh *shell.Shell, t project.Training) error {
	type resolved struct {
		spec  *check.Spec
		found diag.List
	}
	r, err := shell.Await(sh, func() (r resolved, _ error) {
		r.spec, r.found = check.Resolve(t.Options())
		return r, nil
	})
	if err != nil {
		return err
	}
	if err := project.PrintFindings(sh, t.Source, r.found); err != nil {
		return err
	}
	if r.found.HasErrors() {
		return shell.ErrShown
	}
	return printText(sh, "resolved", r.spec.Resolved)
}

func printText(sh *shell.Shell, stage, text string) error {
	if sh.JSON {
		return sh.PrintJSON(struct {
			Stage string `json:"stage"`
			Text  string `json:"text"`
		}{stage, text})
	}
	_, err := io.WriteString(sh.Out, text)
	return err
}

// ExplainCode prints the page of an error or warning, by its code or name.
func ExplainCode(sh *shell.Shell, id string) error {
	c, ok := diag.Named(id)
	if !ok {
		return shell.Usagef("there is no code %s%s", id, nearestCode(id))
	}
	if sh.JSON {
		return sh.PrintJSON(struct {
			Code   string `json:"code"`
			Name   string `json:"name,omitempty"`
			Title  string `json:"title"`
			Doc    string `json:"doc"`
			Broken string `json:"broken"`
			Mended string `json:"mended"`
		}{c.ID, c.Name, c.Title, c.Doc, c.Broken, c.Mended})
	}
	_, err := fmt.Fprintf(sh.Out, "%s: %s\n\n%s\n\nBroken:\n\n%s\nMended:\n\n%s", c.Label(), c.Title, wrap(c.Doc, 80), indent(c.Broken), indent(c.Mended))
	return err
}

// nearestCode suggests a similar code, as the end of a sentence.
func nearestCode(id string) string {
	var names []string
	for _, c := range diag.Codes() {
		names = append(names, strings.Fields(c.Label())...)
	}
	if n := diag.Nearest(id, names); n != "" {
		return fmt.Sprintf(": did you mean %s?", n)
	}
	return ""
}

// indent indents each line that is not empty.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// wrap breaks a paragraph into lines of at most width bytes.
func wrap(text string, width int) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		switch {
		case n == 0:
		case n+1+len(word) > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
