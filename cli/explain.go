package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// explainCmd is the verb explain.
type explainCmd struct {
	What     string   `arg:"" name:"FILE|CODE" help:"A spec, or the code of an error or warning."`
	Stage    string   `help:"Print the spec at a stage of its compilation." xor:"stage" placeholder:"STAGE"`
	Resolved bool     `help:"Print the spec with every default written out: --stage resolved." xor:"stage"`
	Line     string   `help:"Follow one line of the spec or an included file through all stages, or to its text at one with --stage." xor:"line" placeholder:"[FILE:]LINE"`
	HTML     string   `name:"html" help:"Write a page with all stages side by side, linked by spec lines." xor:"line,stage" placeholder:"FILE"`
	Func     string   `help:"Show only one function of the model and its gradient." placeholder:"NAME"`
	Only     string   `help:"In a spec with stages: only this stage." placeholder:"STAGE"`
	Set      []string `help:"Set an attribute: --set model.width=32." sep:"none" placeholder:"PATH=VALUE"`
	Point    []string `help:"In a sweep: only these trainings." sep:"none" placeholder:"AXIS=VALUE,…"`
	Card     string   `help:"With --stage launches: the card, by part of its name, such as h100 sxm or 4090. Default: H200." placeholder:"NAME"`
	SMs      int      `name:"sms" help:"With --stage launches: number of multiprocessors, instead of the card's." placeholder:"N"`
}

// Help is printed below the usage.
func (explainCmd) Help() string {
	var b strings.Builder
	b.WriteString("Stages:\n")
	for _, s := range stages(onCard{}) {
		fmt.Fprintf(&b, "  %-9s %s\n", s.name, s.doc)
	}
	b.WriteString(`
Examples:
  mlc explain specs/successor.arith                       parameters, work, memory, kernels
  mlc explain specs/successor.arith --stage kernel --func head
  mlc explain specs/successor.arith --line 44             a line through all stages
  mlc explain specs/successor.arith --html page.html
  mlc explain specs/successor.arith --stage launches --card "h100 sxm"
  mlc explain specs/abacus/table3.arith                   every training of a sweep, one a line
  mlc explain specs/bias/addition_abc.arith --only extrapolate --stage plan
  mlc explain E0202`)
	return b.String()
}

// code is how codes of errors and warnings are written.
var code = regexp.MustCompile(`^[EVev][0-9]{1,4}$`)

// Run explains a code or a spec.
func (c *explainCmd) Run(a *app) error {
	if code.MatchString(c.What) {
		return a.explainCode(strings.ToUpper(c.What))
	}
	if c.Resolved {
		c.Stage = "resolved"
	}
	if err := checkStage(c.Stage); err != nil {
		return err
	}
	on, err := c.onCard()
	if err != nil {
		return err
	}
	where, err := findProject("", "")
	if err != nil {
		return err
	}
	all, err := a.trainings(c.What, where.root, c.Set, c.Point)
	switch {
	case err != nil:
		return err
	case len(all) == 1:
		return c.training(a, all[0], on)
	case c.Stage == "" && c.Line == "" && c.HTML == "":
		return a.compareAll(all)
	}
	return usagef("%s asks for %d trainings, and this shows one: choose it, as in --point %s", all[0].shown(all[0].name), len(all), all[0].point.Slug)
}

// training explains one training.
func (c *explainCmd) training(a *app, t training, on onCard) error {
	if c.Stage == "resolved" && c.Line == "" {
		return a.printResolved(t)
	}
	p, err := a.compile(t)
	if err != nil {
		return err
	}
	if p, err = only(p, c.Only); err != nil {
		return err
	}
	if err := checkFunction(p, c.Func); err != nil {
		return err
	}
	switch {
	case c.HTML != "":
		if err := one(p, "--html"); err != nil {
			return err
		}
		return a.writePage(p, t, c.HTML)
	case c.Line != "":
		if err := one(p, "--line"); err != nil {
			return err
		}
		return a.follow(p, t, c.Line, c.Stage)
	case c.Stage == "" && len(p.Stages) > 0:
		return a.summarizeStages(p, t)
	case c.Stage == "":
		return a.summarize(p, t)
	}
	return a.printStages(p, c.Stage, c.Func, on)
}

// checkFunction makes sure that a function that is asked for exists; "" is all.
func checkFunction(p *compiler.Program, name string) error {
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
	return usagef("the model has no function %q: %s", name, diag.DidYouMean(name, names, "functions are"))
}

// printStage prints a program at a stage of its compilation.
func (a *app) printStage(p *compiler.Program, stage, function string, on onCard) error {
	switch {
	case a.json && stage == launchesStage:
		return a.printLaunches(p, function, on)
	case a.json && stage == trafficStage:
		return a.printTraffic(p, function)
	}
	text, err := await(a, func() (string, error) { return stageText(p, stage, function, on) })
	if err != nil {
		return err
	}
	return a.printText(stage, text)
}

// printResolved prints the resolved form of a spec, also of one that asks for what
// the compiler has not yet.
func (a *app) printResolved(t training) error {
	type resolved struct {
		spec  *check.Spec
		found diag.List
	}
	r, err := await(a, func() (r resolved, _ error) {
		r.spec, r.found = check.Resolve(t.options())
		return r, nil
	})
	if err != nil {
		return err
	}
	if err := a.findings(t.source, r.found); err != nil {
		return err
	}
	if r.found.HasErrors() {
		return errShown
	}
	return a.printText("resolved", r.spec.Resolved)
}

func (a *app) printText(stage, text string) error {
	if a.json {
		return a.printJSON(struct {
			Stage string `json:"stage"`
			Text  string `json:"text"`
		}{stage, text})
	}
	_, err := io.WriteString(a.out, text)
	return err
}

// explainCode prints the page of a code.
func (a *app) explainCode(id string) error {
	c, ok := diag.Lookup(id)
	if !ok {
		return usagef("there is no code %s%s", id, nearestCode(id))
	}
	if a.json {
		return a.printJSON(struct {
			Code   string `json:"code"`
			Title  string `json:"title"`
			Doc    string `json:"doc"`
			Broken string `json:"broken"`
			Mended string `json:"mended"`
		}{c.ID, c.Title, c.Doc, c.Broken, c.Mended})
	}
	_, err := fmt.Fprintf(a.out, "%s: %s\n\n%s\n\nBroken:\n\n%s\nMended:\n\n%s", c.ID, c.Title, wrap(c.Doc, 80), indent(c.Broken), indent(c.Mended))
	return err
}

// nearestCode is the question whether another code was meant, if one is near.
func nearestCode(id string) string {
	var names []string
	for _, c := range diag.Codes() {
		names = append(names, c.ID)
	}
	if n := diag.Nearest(id, names); n != "" {
		return fmt.Sprintf(": did you mean %s?", n)
	}
	return ""
}

// indent moves each line that is not empty to the right.
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
