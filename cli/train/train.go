package train

import (
	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// Run does what the command line asks for: it trains, launches, or prints the table. A
// mistake of the command line is a shell.UsageError.
func (l *Line) Run(b *build.Builder) error {
	if err := l.check(); err != nil {
		return err
	}
	b, quiet := loud(b)
	if l.File == "" {
		return ofRun(b, "train", l.Out, l.Device, words(&l.Flags))
	}
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	all, err := project.Trainings(b.Shell, l.File, where.Root, l.Set, l.Point)
	if err != nil {
		return err
	}
	if err := l.refuseAxes(all); err != nil {
		return err
	}
	switch several := l.InitSeed.Several(); {
	case several && len(all) > 1:
		return shell.Usagef("--init-seed %s trains several models in one training, and here are %d trainings: choose one with --point", l.InitSeed, len(all))
	case several && (l.Launcher != "" || l.Collect):
		return shell.Usagef("--init-seed %s trains several models in one training, which has no launcher: leave out --launcher and --collect", l.InitSeed)
	}
	if l.Device == simDevice && (len(all) > 1 && !l.Collect || l.Launcher != "") {
		return shell.Usagef("--device sim: mlc simulates one training: choose one with --point, and leave out --launcher")
	}
	switch {
	case l.DryRun && here(b, l.Device):
		return shell.Usagef("--dry-run measures steps of a trainer: leave out --device %s", l.Device)
	case l.DryRun:
		return dryRun(b, where, all, *l, quiet)
	case l.Launcher != "":
		return launchAll(b, where, all, *l, quiet)
	case l.Collect:
		return collectAll(b, where, all, *l)
	case len(all) > 1:
		return trainAll(b, where, all, *l, quiet)
	}
	f := l.Flags
	if all[0].Point.Name != "" && f.Out != "" {
		if f, err = f.inside(all[0]); err != nil {
			return err
		}
	}
	return become(b, "train", where, all[0], f.Device, append(words(&f), saying(quiet, b.JSON)...), quiet)
}
