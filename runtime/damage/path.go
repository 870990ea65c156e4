package damage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Path is the place of a file or a directory: anywhere on the machine, or below a root that
// no link leads out of, even one made later.
type Path struct {
	in   files
	name string // relative to in
	full string // for messages
}

// files opens files anywhere, or below a root like an *os.Root.
type files interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
}

// A machine opens all files.
type machine struct{}

func (machine) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

func (machine) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// At returns a path anywhere.
func At(path string) Path { return Path{machine{}, path, path} }

// Below returns a path below a root, which must be open while the path is used.
func Below(root *os.Root, name string) Path {
	return Path{root, name, filepath.Join(root.Name(), name)}
}

// Join returns the path of an entry in a directory.
func (p Path) Join(names ...string) Path {
	name := filepath.Join(names...)
	return Path{p.in, filepath.Join(p.name, name), filepath.Join(p.full, name)}
}

// String is the whole path.
func (p Path) String() string { return p.full }

// Lstat describes the file at the path, which may be a link.
func (p Path) Lstat() (fs.FileInfo, error) { return p.in.Lstat(p.name) }

// Open opens a file for reading. It returns an Error for a device or a named pipe, which could
// block reads for ever. It inspects the opened file, which cannot be exchanged.
func (p Path) Open() (*os.File, error) {
	f, err := p.in.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would block
	if of, is := errors.AsType[*fs.PathError](err); is {
		return nil, &fs.PathError{Op: "open", Path: p.full, Err: of.Err} // a root leaves out the path
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

// MaxFile is the size of the largest file of a run that is read whole. Checkpoints may be
// larger.
const MaxFile = 1 << 30

// Read reads a file of a run. It returns an Error for a device, a pipe, or a file larger than
// MaxFile.
func (p Path) Read() ([]byte, error) { return p.ReadUpTo(MaxFile) }

// ReadUpTo is Read with another limit.
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
	text, err := io.ReadAll(io.LimitReader(f, most+1)) // the file may grow meanwhile
	if err == nil && int64(len(text)) > most {
		return nil, large
	}
	return text, err
}

// ReadJSON decodes the file. It returns an Error unless it is JSON of to's kind.
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

// FS returns a directory as a file system, for fs.WalkDir. Its errors have whole paths.
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
