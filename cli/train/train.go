package train

import (
	"strings"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// Run makes what a command line asks for.
func Run(b *build.Builder, line Line) error {
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	if line.File == "" {
		return ofRun(b, "train", line.run, line.flags)
	}
	all, err := project.Trainings(b.Shell, line.File, where.Root, line.own.Set, line.own.Point)
	if err != nil {
		return err
	}
	flags := takeFlags(line.flags)
	if err := flags.refuseAxes(all); err != nil {
		return err
	}
	if seeds, _ := flags.value("--init-seed"); strings.Contains(seeds, "..") && (len(all) > 1 || line.own.Launcher != "" || line.own.Collect) {
		return shell.Usagef("--init-seed %s: a training of several models is made alone, and here are %d trainings: choose one by --point", seeds, len(all))
	}
	if onDevice(line.flags) == simDevice && (len(all) > 1 && !line.own.Collect || line.own.Launcher != "") {
		return shell.Usagef("--device sim: mlc itself simulates one training: choose one by --point, and leave out --launcher")
	}
	switch {
	case line.own.Launcher != "":
		return launchAll(b, where, all, line)
	case line.own.Collect:
		return collectAll(b, where, all, line)
	case len(all) > 1:
		return trainAll(b, where, all, line)
	}
	if all[0].Point.Name != "" && flags.out != "" {
		if line.flags, err = flags.inside(all[0]); err != nil {
			return err
		}
	}
	return become(b, "train", where, all[0], line)
}
