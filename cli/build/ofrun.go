package build

import (
	"errors"
	"path/filepath"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// TrainerOf returns the path of a run's trainer. If it is missing, TrainerOf calls building
// and builds it from the run's spec; built is then true. It returns an error if the run is
// damaged or the build fails.
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
	if whole(binary) { // files that its spec reads may be gone
		touch(binary, sealPath(binary))
		return binary, false, nil
	}
	building()
	binary, err = b.binaryOf(dir, rec.Name, how)
	return binary, true, err
}

// binaryOf builds the trainer of a run from the run's spec.
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
		b.Say("if the spec reads files, copy them to %s, or use the trainer that trained the run", dir)
	}
	if err != nil {
		return "", err
	}
	return p.Binary, nil
}
