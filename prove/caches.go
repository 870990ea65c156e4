package prove

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/arithlang/mlc/prove/probe"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// The archive of PyTorch's caches is a gzipped tar file. It is not kept if it is larger than
// mostPacked, and not read beyond mostUnpacked bytes.
const (
	mostPacked   = 15 << 20
	mostUnpacked = 1 << 30
)

// cacheDir is the folder into which PyTorch compiles in this run.
func (e *Env) cacheDir() string { return filepath.Join(e.dir, "caches") }

// packCaches writes the archive.
func packCaches(_ context.Context, e *Env, p *Part) error {
	if e.caches == "" {
		return skipf("--caches does not name an archive")
	}
	var out bytes.Buffer
	files, err := pack(&out, os.DirFS(e.cacheDir()))
	switch {
	case err != nil:
		return err
	case files == 0:
		return skipf("PyTorch has compiled nothing")
	case out.Len() > mostPacked:
		return skipf("%d files take %d MiB, more than %d", files, out.Len()>>20, mostPacked>>20)
	}
	p.Figures = []probe.Figure{{Name: "files", Value: float64(files), Unit: "files"}, {Name: "packed", Value: float64(out.Len()) / 1024, Unit: "KiB"}}
	return ckpt.WriteFile(e.caches, out.Bytes())
}

// pack archives the regular files of a folder, which may be missing.
func pack(w io.Writer, dir fs.FS) (files int, err error) {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return 0, err
	}
	t := tar.NewWriter(z)
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == "." && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil || !d.Type().IsRegular():
			return err
		}
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		files++
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		_, err = t.Write(text)
		return err
	})
	return files, errors.Join(err, t.Close(), z.Close())
}

// unpackCaches reads the archive of an earlier run, if it exists.
func unpackCaches(_ context.Context, e *Env, p *Part) error {
	if e.caches == "" {
		return skipf("--caches does not name an archive")
	}
	f, err := os.Open(e.caches)
	if errors.Is(err, fs.ErrNotExist) {
		return skipf("%s does not exist yet", filepath.Base(e.caches))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.MkdirAll(e.cacheDir(), 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(e.cacheDir())
	if err != nil {
		return err
	}
	defer root.Close()
	files, err := unpack(root, f)
	if err != nil {
		return skipf("%s is not used: %v", filepath.Base(e.caches), err)
	}
	p.Figures = []probe.Figure{{Name: "files", Value: float64(files), Unit: "files"}}
	return nil
}

// unpack writes the files of an archive below a folder. Names cannot leave the folder.
func unpack(root *os.Root, r io.Reader) (files int, err error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return 0, err
	}
	t := tar.NewReader(io.LimitReader(z, mostUnpacked))
	for {
		h, err := t.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return files, err
		}
		if err := root.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
			return files, err
		}
		text, err := io.ReadAll(t)
		if err != nil {
			return files, err
		}
		if err := root.WriteFile(h.Name, text, 0o644); err != nil {
			return files, err
		}
		files++
	}
}
