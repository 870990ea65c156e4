package damage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Path is where a file or a directory is: anywhere on the machine, or below a root, which
// no link leads out of, whenever that is made.
type Path struct {
	in   files
	name string // as in has it
	full string // as messages have it
}

// files opens what is anywhere, or what is below a root: an *os.Root does.
type files interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
}

// A machine has all files.
type machine struct{}

func (machine) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

func (machine) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// At is a path anywhere.
func At(path string) Path { return Path{machine{}, path, path} }

// Below is a path below a root, which is open as long as the path is used.
func Below(root *os.Root, name string) Path {
	return Path{root, name, filepath.Join(root.Name(), name)}
}

// Join is the path of something in a directory.
func (p Path) Join(names ...string) Path {
	name := filepath.Join(names...)
	return Path{p.in, filepath.Join(p.name, name), filepath.Join(p.full, name)}
}

// String is the whole path.
func (p Path) String() string { return p.full }

// Lstat describes what is at the path, which may be a link.
func (p Path) Lstat() (fs.FileInfo, error) { return p.in.Lstat(p.name) }

// Open opens a file for reading: an Error where a device or a named pipe is at the path, which
// to read may take for ever. It looks at what it has opened, which nobody can exchange.
func (p Path) Open() (*os.File, error) {
	f, err := p.in.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // for a pipe it would wait
	if of, is := errors.AsType[*fs.PathError](err); is {
		return nil, &fs.PathError{Op: "open", Path: p.full, Err: of.Err} // a root says less
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		what := "a device"
		if info.Mode()&fs.ModeNamedPipe != 0 {
			what = "a named pipe"
		}
		err = In(p.full, Errorf("it is %s", what))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// MaxFile is the size of the largest file of a run that is read whole, but for checkpoints.
const MaxFile = 1 << 30

// Read reads what a run has left: an Error where that is Open's, or too large.
func (p Path) Read() ([]byte, error) { return p.ReadUpTo(MaxFile) }

// ReadUpTo is Read for files that are to have no more bytes.
func (p Path) ReadUpTo(most int64) ([]byte, error) {
	f, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	large := In(p.full, Errorf("it has more than %d MiB", most>>20))
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		return nil, large
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1)) // it may grow meanwhile
	if err == nil && int64(len(text)) > most {
		return nil, large
	}
	return text, err
}

// ReadJSON decodes the file: an Error where that is not JSON of to's kind.
func (p Path) ReadJSON(to any) error { return p.decode(JSON, to) }

// ReadSealed decodes the sealed object in the file.
func (p Path) ReadSealed(to any) error { return p.decode(Unseal, to) }

func (p Path) decode(decode func([]byte, any) error, to any) error {
	text, err := p.Read()
	if err != nil {
		return err
	}
	return In(p.full, decode(text, to))
}

// FS is a directory as a file system, for fs.WalkDir. Its errors have whole paths.
func (p Path) FS() fs.FS { return tree{p} }

type tree struct{ top Path }

// Open implements fs.FS.
func (t tree) Open(name string) (fs.File, error) {
	f, err := t.top.Join(filepath.FromSlash(name)).Open()
	if err != nil {
		return nil, err
	}
	return f, nil
}
