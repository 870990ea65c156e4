//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows

package lock

import (
	"errors"
	"io/fs"
	"os"
)

// guard opens and locks a file such as File. The previous owner may have removed it meanwhile,
// so guard tries again until it holds the lock of the file at path.
func guard(path string, wait bool, lock func(f *os.File, wait bool) error) (*os.File, error) {
	for tries := 0; ; tries++ {
		f, err := open(path, true)
		if err != nil && going(err, tries) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := lock(f, wait); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		mine, err := f.Stat()
		if err == nil {
			var now fs.FileInfo
			now, err = os.Stat(path)
			if err == nil && os.SameFile(mine, now) {
				sign(f)
				return f, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !going(err, tries) {
			return nil, err
		}
	}
}

// sign writes the owner into the file, for people only.
func sign(f *os.File) {
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(me()+"\n"), 0)
}
