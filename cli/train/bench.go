package train

import (
	"reflect"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// Bench times or counts the steps of a training.
func Bench(b *build.Builder, line Line) error {
	if own := (OwnFlags{Set: line.own.Set, Point: line.own.Point}); !reflect.DeepEqual(own, line.own) {
		return shell.Usagef("mlc bench trains nothing: of the flags that are for mlc it takes --set and --point")
	}
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	all, err := project.Trainings(b.Shell, line.File, where.Root, line.own.Set, line.own.Point)
	if err != nil {
		return err
	}
	if len(all) > 1 {
		return shell.Usagef("%s asks for %d trainings: choose one by --point", line.File, len(all))
	}
	if onDevice(line.flags) == countDevice {
		return countOn(b.Shell, all[0], line.flags)
	}
	if foretells(line.flags) {
		return foretell(b, all[0], line.flags)
	}
	return become(b, "bench", where, all[0], line)
}
