package cli

import (
	"regexp"
	"strings"

	"github.com/arithlang/mlc/cli/look"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/dsl/diag"
)

// explainCmd is the verb explain.
type explainCmd struct {
	What     string   `arg:"" name:"FILE|CODE" help:"A spec, or the code of an error, or the code or name of a warning."`
	Stage    string   `help:"Print the spec at a stage of its compilation." xor:"stage" placeholder:"STAGE"`
	Resolved bool     `help:"Print the spec with every default written out: --stage resolved." xor:"stage"`
	Line     string   `help:"Follow one line of the spec or an included file through all stages; with --stage, print its full text at that stage." placeholder:"[FILE:]LINE"`
	Format   string   `help:"text; html: a page with all stages side by side, linked by spec lines." enum:"text,html" default:"text"`
	Out      string   `help:"With --format html: file to write." short:"o" placeholder:"FILE"`
	Func     string   `help:"Show only one function of the model and its gradient." placeholder:"NAME"`
	Only     string   `help:"In a spec with stages: only this stage." placeholder:"STAGE"`
	Set      []string `help:"Set an attribute: --set model.width=32." sep:"none" placeholder:"PATH=VALUE"`
	Point    []string `help:"In a sweep: only these trainings." sep:"none" placeholder:"AXIS=VALUE,…"`
	Card     string   `help:"With --stage launches: the card, by part of its name, such as h100 sxm or 4090. Default: H200." placeholder:"NAME"`
	SMs      int      `name:"sms" help:"With --stage launches: number of multiprocessors, instead of the card's." placeholder:"N"`
}

// Help is printed below the usage.
func (explainCmd) Help() string {
	return "Stages:\n" + look.StageDocs() + `
Examples:
  mlc explain specs/successor.arith                       parameters, work, memory, kernels
  mlc explain specs/successor.arith --stage kernel --func head
  mlc explain specs/successor.arith --line 44             a line through all stages
  mlc explain specs/successor.arith --format html -o page.html
  mlc explain specs/successor.arith --stage launches --card "h100 sxm"
  mlc explain specs/abacus/table3.arith                   every training of a sweep, one a line
  mlc explain specs/bias/addition_abc.arith --only extrapolate --stage plan
  mlc explain specs/attention/kerple.arith                attention alone
  mlc explain E0202`
}

// code matches the codes of errors and warnings.
var code = regexp.MustCompile(`^[EVev][0-9]{1,4}$`)

// Run explains a code or a spec.
func (c *explainCmd) Run(sh *shell.Shell) error {
	if _, named := diag.Named(c.What); named {
		return look.ExplainCode(sh, c.What)
	}
	if code.MatchString(c.What) {
		return look.ExplainCode(sh, strings.ToUpper(c.What))
	}
	if c.Resolved {
		c.Stage = "resolved"
	}
	switch html := c.Format == "html"; {
	case html && (c.Stage != "" || c.Line != ""):
		return shell.Usagef("--format html is a page of all lines at all stages: leave out --line and --stage")
	case html && c.Out == "":
		return shell.Usagef("--format html needs a file, such as --out page.html")
	case !html && c.Out != "":
		return shell.Usagef("--out is for --format html; text is printed")
	}
	if err := look.CheckStage(c.Stage); err != nil {
		return err
	}
	on, err := look.NewOnCard(c.Card, c.SMs, c.Stage)
	if err != nil {
		return err
	}
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	if shown, err := c.alone(sh, where.Root); shown || err != nil {
		return err
	}
	all, err := project.Trainings(sh, c.What, where.Root, c.Set, c.Point)
	switch {
	case err != nil:
		return err
	case len(all) == 1:
		return c.training(sh, all[0], on)
	case c.Stage == "" && c.Line == "" && c.Out == "":
		return look.CompareAll(sh, all)
	}
	return shell.Usagef("%s has %d trainings, and this shows one: choose it, for example with --point %s", all[0].Shown(all[0].Name), len(all), all[0].Point.Slug)
}

// alone explains a spec of attention alone. shown is false for any other spec.
func (c *explainCmd) alone(sh *shell.Shell, root string) (shown bool, err error) {
	s, err := project.FindSource(c.What, root)
	if err != nil {
		return false, err
	}
	a, err := project.Alone(sh, s, c.Set)
	if a == nil || err != nil {
		return false, err
	}
	if c.Line != "" || c.Out != "" || c.Only != "" || len(c.Point) > 0 {
		return true, shell.Usagef("%s is a spec of attention alone: of the flags of explain, --stage, --func and --set are for it", s.Shown(s.Name))
	}
	if c.Stage == "" || c.Stage == "resolved" {
		return true, look.ExplainAttention(sh, s, a, c.Stage)
	}
	if err := look.CheckAloneStage(c.Stage); err != nil {
		return true, err
	}
	compiled, err := shell.Await(sh, func() (*compiler.Attention, error) {
		compiled, _, err := compiler.CompileAttention(s.Asks(c.Set))
		return compiled, err
	})
	if err != nil {
		return true, err
	}
	if err := look.CheckFunction(compiled.Stages, c.Func); err != nil {
		return true, err
	}
	return true, look.PrintStages(sh, compiled.Stages, c.Stage, c.Func, look.OnCard{})
}

// training explains one training.
func (c *explainCmd) training(sh *shell.Shell, t project.Training, on look.OnCard) error {
	if c.Stage == "resolved" && c.Line == "" {
		return look.PrintResolved(sh, t)
	}
	p, err := project.Compile(sh, t)
	if err != nil {
		return err
	}
	if p, err = look.Only(p, c.Only); err != nil {
		return err
	}
	if err := look.CheckFunction(p, c.Func); err != nil {
		return err
	}
	switch {
	case c.Out != "":
		if err := look.One(p, "--format html"); err != nil {
			return err
		}
		return look.WritePage(sh, p, t, c.Out)
	case c.Line != "":
		if err := look.One(p, "--line"); err != nil {
			return err
		}
		return look.FollowLine(sh, p, t, c.Line, c.Stage)
	case c.Stage == "" && len(p.Stages) > 0:
		return look.SummarizeStages(sh, p, t)
	case c.Stage == "":
		return look.Summarize(sh, p, t)
	}
	return look.PrintStages(sh, p, c.Stage, c.Func, on)
}
