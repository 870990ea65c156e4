package build

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
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

// cacheVariable names the folder that mlc keeps what it builds in.
const cacheVariable = "MLC_CACHE"

// Home is the folder of the module that trainers are built in where the current folder is in
// none that has mlc: below the user's cache, one for each version of the runtime. What is
// there already is not written again.
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
		if err == nil && changed { // then binaries may have been built from other source
			err = os.RemoveAll(filepath.Join(dir, "bin"))
		}
		if err != nil {
			return "", fmt.Errorf("cannot keep the runtime's source in %s: %w: name another folder in %s", cache, err, cacheVariable)
		}
	}
	forget(cache, dir)
	b.homeDir = dir
	return dir, nil
}

// cacheFolder is where mlc keeps what it builds.
func cacheFolder() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder to build the trainer in: %w: name one in %s", err, cacheVariable)
	}
	return filepath.Join(dir, "mlc", "build"), nil
}

// ensureFile writes a file if it has not that text, and says whether it had another one.
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

// kept is how long what was built stays when nobody uses it.
const kept = 30 * 24 * time.Hour

// forget removes from the cache what has not been used for long, but for one folder, whose
// use it notes. A cache that was named may be a folder of other things, so of it only modules
// that home has written are removed.
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
			os.RemoveAll(path) // or it stays
		}
	}
}

// moduleName is what home calls a module.
var moduleName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// isModule says whether home has written a folder.
func isModule(path string) bool {
	return moduleName.MatchString(filepath.Base(path)) && project.HasRuntime(path)
}

// AtHome is the program of a training in the module of the cache: another folder for each
// spec, and its binary there or, if a folder is given, in that.
func (b *Builder) AtHome(t project.Training, binaries string) (*Product, error) {
	return b.atHomeBy(t, binaries, "", b.Generate)
}

// Forecast is the program, and its binary there, that says what steps of a training take on more
// cores.
func (b *Builder) Forecast(t project.Training) (*Product, error) {
	p, err := b.atHomeBy(t, "", "-cores", codegen.Forecast)
	if err == nil {
		err = b.makeFresh(p, Brief)
	}
	return p, err
}

// atHomeBy is AtHome of a program that is made in some way, with an ending to its name.
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

// CacheName is what the program of a spec is called in the cache.
func CacheName(name, hash string) string { return fmt.Sprintf("%s-%.16s", name, hash) }

// isHome says whether a folder is in the module of the cache.
func (b *Builder) isHome(dir string) bool {
	rel, err := filepath.Rel(b.homeDir, dir)
	return b.homeDir != "" && err == nil && filepath.IsLocal(rel)
}

// homeEnv is the environment of go commands there: it needs no network, no C compiler and
// nothing of the user's modules. Without paths in what is compiled, the runtime that was
// compiled in one folder serves in all, as in that of another cache or version.
func homeEnv() []string {
	return append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=vendor -trimpath")
}

// makeFresh writes a program of the cache, and builds its binary unless that was built from it.
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

// toolchain is the go command.
func toolchain() (string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errNoGo
	}
	return tool, nil
}
