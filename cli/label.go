package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/label"
	"github.com/arithlang/mlc/runtime/record"
)

// labelCmd is the verb label.
type labelCmd struct {
	Dirs []string `arg:"" name:"RUN" help:"Run directories."`
	label.Label
	Untag []string `help:"Tag to remove." sep:"none" placeholder:"WORD"`
	Clear bool     `help:"Remove name, tags and note first."`
}

// Help is printed below the usage.
func (labelCmd) Help() string {
	return `Gives runs a name, tags and a note, or prints the ones they have. A new name or note
replaces an earlier one; tags are added. A run may be training meanwhile. mlc train has the
same flags. mlc runs, the pages of mlc serve and mlc report, and mlc mlflow show labels.

Examples:
  mlc label runs/successor/20260301-120000-1a2b3c4d
  mlc label runs/successor/* --tag ablation --tag width-32
  mlc label runs/trial --name 'no window' --note 'the window is what the model needs'
  mlc label runs/trial --untag ablation
  mlc runs --tag ablation`
}

// Run changes labels, or prints them.
func (c *labelCmd) Run(sh *shell.Shell) error {
	if err := c.Label.Check(); err != nil {
		return shell.Misused(err)
	}
	labels := make([]label.Label, len(c.Dirs))
	for i, dir := range c.Dirs { // all are read before one is written
		_, err := record.Open(dir)
		if err == nil && !c.Clear {
			if labels[i], err = label.Of(damage.At(dir)); damage.Is(err) {
				err = fmt.Errorf("%w\nremove it with mlc label --clear, and label the run again", err)
			}
		}
		if err != nil {
			return err
		}
	}
	for i, dir := range c.Dirs {
		l := &labels[i]
		l.Tags = slices.DeleteFunc(l.Tags, func(t string) bool { return slices.Contains(c.Untag, t) })
		l.Merge(&c.Label)
		if c.Clear || len(c.Untag) > 0 || !c.Label.Empty() {
			if err := l.Write(dir); err != nil {
				return err
			}
		}
		if err := printLabel(sh, dir, l); err != nil {
			return err
		}
	}
	return nil
}

// printLabel prints a label as one line, and its note below.
func printLabel(sh *shell.Shell, dir string, l *label.Label) error {
	if sh.JSON {
		return sh.PrintJSON(struct {
			Dir string `json:"dir"`
			*label.Label
		}{dir, l})
	}
	text := strings.TrimRight(dir+"  "+(&list.Run{Label: *l}).Called(), " ")
	if l.Note != "" {
		text += "\n  " + strings.ReplaceAll(l.Note, "\n", "\n  ")
	}
	_, err := fmt.Fprintln(sh.Out, text)
	return err
}
