package build

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler/bundle"
	"github.com/arithlang/mlc/runtime/disk"
)

// cacheVariable names the environment variable with mlc's cache folder.
const cacheVariable = "MLC_CACHE"

// Home returns the folder of the module in mlc's cache. Trainers are built there if the
// current folder is in no module that has mlc. There is one module for each version of the
// runtime. Home writes only missing or changed files. It returns an error if the cache is
// not writable.
func (b *Builder) Home() (string, error) {
	if b.homeDir != "" {
		return b.homeDir, nil
	}
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	files, err := bundle.Files(b.Source)
	if err != nil {
		return "", fmt.Errorf("BUG: %w", err)
	}
	dir := filepath.Join(cache, bundle.Key(files))
	for name, data := range files {
		changed, err := ensureFile(filepath.Join(dir, filepath.FromSlash(name)), data)
		if err == nil && changed { // binaries may have been built from the old source
			err = os.RemoveAll(filepath.Join(dir, "bin"))
		}
		if err != nil {
			return "", fmt.Errorf("cannot keep the runtime's source in %s: %w: set %s to another folder", cache, err, cacheVariable)
		}
	}
	forget(cache, dir)
	b.homeDir = dir
	return dir, nil
}

// cacheFolder returns the folder for everything that mlc builds.
func cacheFolder() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder to build the trainer in: %w: set %s to one", err, cacheVariable)
	}
	return filepath.Join(dir, "mlc", "build"), nil
}

// ensureFile writes a file unless it has this content already. changed reports whether the
// file had other content.
func ensureFile(path string, data []byte) (changed bool, err error) {
	have, err := paths.ReadUpTo(path, int64(len(data))+1)
	if err == nil && bytes.Equal(have, data) {
		return false, nil
	}
	changed = !errors.Is(err, fs.ErrNotExist)
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return changed, err
	}
	temp, err := paths.WriteTemp(folder, data)
	if err == nil {
		err = disk.Rename(temp, path)
	}
	if err != nil && temp != "" {
		os.Remove(temp)
	}
	return changed, err
}

// kept is how long unused builds stay.
const kept = 30 * 24 * time.Hour

// forget removes builds that were not used for long, except used, which it marks as used. A
// cache folder that the user chose may contain other files, so only modules written by Home
// are removed from it.
func forget(cache, used string) {
	now := time.Now()
	os.Chtimes(used, now, now)
	for _, folder := range []string{cache, filepath.Join(used, "programs"), filepath.Join(used, "bin")} {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			info, err := e.Info()
			if err != nil || path == used || now.Sub(info.ModTime()) < kept || folder == cache && !isModule(path) {
				continue
			}
			os.RemoveAll(path) // an error leaves it
		}
	}
}

// moduleName matches the names of modules in the cache.
var moduleName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// isModule reports whether Home wrote a folder.
func isModule(path string) bool {
	return moduleName.MatchString(filepath.Base(path)) && project.HasRuntime(path)
}

// AtHome returns the program of a training in the cache's module, in a folder for each
// spec. Its binary is also there, unless binaries names a folder.
func (b *Builder) AtHome(t project.Training, binaries string) (*Product, error) {
	return b.atHomeBy(t, binaries, "", b.Generate)
}

// Forecast builds the program in the cache that times the pieces of a training's steps for
// other numbers of cores.
func (b *Builder) Forecast(t project.Training) (*Product, error) {
	p, err := b.atHomeBy(t, "", "-cores", codegen.Forecast)
	if err == nil {
		err = b.makeFresh(p, Brief)
	}
	return p, err
}

// atHomeBy is AtHome for a program made by generate, with an ending to its name.
func (b *Builder) atHomeBy(t project.Training, binaries, ending string, generate Generate) (*Product, error) {
	home, err := b.Home()
	if err != nil {
		return nil, err
	}
	prog, err := project.Compile(b.Shell, t)
	if err != nil {
		return nil, err
	}
	if err := project.CheckName(t.Shown(t.Name), prog.Spec.Name); err != nil {
		return nil, err
	}
	folder := CacheName(prog.Spec.Name, prog.Spec.Hash) + ending
	q := &Product{of: t, Program: prog, Name: programOf(t, prog), dir: filepath.Join(home, "programs", folder)}
	if binaries == "" {
		q.calledBy, q.Binary = shell.CalledBy(), filepath.Join(home, "bin", folder+shell.ExeSuffix)
	} else {
		q.Binary = filepath.Join(binaries, q.Name+shell.ExeSuffix)
	}
	q.files, err = shell.Await(b.Shell, func() ([]codegen.File, error) {
		return generate(prog, codegen.Options{Version: shell.Version, Path: importPath(q.dir)})
	})
	return q, err
}

// CacheName returns the name of a spec's program in the cache.
func CacheName(name, hash string) string { return fmt.Sprintf("%s-%.16s", name, hash) }

// isHome reports whether a folder is in the cache's module.
func (b *Builder) isHome(dir string) bool {
	rel, err := filepath.Rel(b.homeDir, dir)
	return b.homeDir != "" && err == nil && filepath.IsLocal(rel)
}

// homeEnv adds to the environment of go commands in the cache's module. They need no
// network, no C compiler and none of the user's modules. Without paths in compiled code,
// all folders, caches and versions share Go's build cache.
func homeEnv(env []string) []string {
	return append(env, "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=vendor -trimpath")
}

// makeFresh writes a program of the cache, and builds its binary unless that is current.
func (b *Builder) makeFresh(p *Product, how Telling) error {
	start := time.Now()
	made, err := b.Write(p, start)
	if err != nil {
		return err
	}
	if p.fresh() {
		touch(p.dir, p.Binary, sealPath(p.Binary))
		return nil
	}
	if err := b.Link(p, made, how); err != nil {
		return err
	}
	if how != Silent {
		b.Say("%s: built in %.1f s", p.Name, time.Since(start).Seconds())
	}
	return nil
}
