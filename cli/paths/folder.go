package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/disk"
)

// A File is a file below a folder. Its path has forward slashes.
type File struct {
	Path string
	Data []byte
}

// Vacant returns an error if the folder exists and is not empty.
func Vacant(folder string) error {
	found, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(found) > 0:
		return fmt.Errorf("%s is not empty: choose another folder, or overwrite its files with --force", folder)
	}
	return nil
}

// WriteFiles writes files to a folder. It writes all of them before it renames the first, so a full
// disk leaves old files. Whole says that the folder is theirs alone: a new one appears with all of
// its files. The last files come first, because the first one refers to them.
func WriteFiles(folder string, files []File, whole bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", folder, err)
		}
	}()
	parent := folder
	if whole {
		parent = filepath.Dir(folder)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(parent, "."+filepath.Base(folder)+".")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := ckpt.WriteFile(filepath.Join(made, filepath.FromSlash(f.Path)), f.Data); err != nil {
			return err
		}
	}
	if whole && !Exists(folder) {
		return disk.Rename(made, folder)
	}
	for _, f := range slices.Backward(files) {
		if err := disk.Rename(filepath.Join(made, filepath.FromSlash(f.Path)), filepath.Join(folder, filepath.FromSlash(f.Path))); err != nil {
			return err
		}
	}
	return disk.SyncDir(folder)
}
