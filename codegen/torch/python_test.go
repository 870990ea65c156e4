package torch

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// TestPython runs the tests of the Python files, with a package whose reference and table are
// written by hand and with a driver library that records.
func TestPython(t *testing.T) {
	python, cc := full.Needs(t, full.Python), full.Needs(t, full.CC)
	dir := t.TempDir()
	pkg := filepath.Join(dir, "kerple")
	for _, from := range []fs.FS{sub(t, static, "python"), os.DirFS("testdata/kerple")} {
		if err := os.CopyFS(pkg, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, precision := range []string{"float32", "bfloat16"} {
		if err := os.WriteFile(filepath.Join(pkg, precision+".ptx"), []byte("// "+precision+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(dir, "record.so")
	if out, err := exec.Command(cc, "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, "testdata/record.c", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kernels := []string{"MLC_LIBCUDA=" + library, "MLC_LIBCUDA_MEMORY=cpu", "RECORD=" + filepath.Join(dir, "record")}
	for _, test := range []struct {
		file string
		env  []string
	}{
		{"test_reference.py", nil},
		{"test_kernels.py", kernels},
		{"test_given.py", kernels},
	} {
		t.Run(test.file, func(t *testing.T) {
			cmd := exec.Command(python, filepath.Join("testdata", test.file))
			cmd.Env = append(append(os.Environ(), "PACKAGE="+dir, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1"), test.env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func sub(t *testing.T, files fs.FS, dir string) fs.FS {
	t.Helper()
	files, err := fs.Sub(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
