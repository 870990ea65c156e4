package prove

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"
)

// escaping is an archive with a file outside of its folder.
func escaping(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "../outside", Mode: 0o644, Size: 1}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{errOf(w.Write([]byte("x"))), w.Close(), z.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func errOf(_ int, err error) error { return err }
