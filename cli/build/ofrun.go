package build

import (
	"errors"
	"path/filepath"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// TrainerOf is the trainer of a run. One that is not there is built from the spec in the run,
// after building has been called.
func (b *Builder) TrainerOf(dir string, how Telling, building func()) (binary string, built bool, err error) {
	rec, err := project.RecordOf(dir)
	if err != nil {
		return "", false, err
	}
	home, err := b.Home()
	if err != nil {
		return "", false, err
	}
	binary = filepath.Join(home, "bin", CacheName(rec.Name, rec.SpecHash)+shell.ExeSuffix)
	if whole(binary) { // what its spec reads need not be there any more
		touch(binary, sealPath(binary))
		return binary, false, nil
	}
	building()
	binary, err = b.binaryOf(dir, rec.Name, how)
	return binary, true, err
}

// binaryOf builds the trainer of a run from the spec in it.
func (b *Builder) binaryOf(dir, name string, how Telling) (string, error) {
	t, err := project.OfRun(b.Shell, dir, name)
	if err != nil {
		return "", err
	}
	p, err := b.AtHome(t, "")
	if err == nil {
		err = b.makeFresh(p, how)
	}
	if errors.Is(err, shell.ErrShown) {
		b.Say("if the spec reads files, copy them to %s, or use the trainer that has trained the run", dir)
	}
	if err != nil {
		return "", err
	}
	return p.Binary, nil
}
