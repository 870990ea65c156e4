package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestInsist wants insist to wait only for an error that may pass.
func TestInsist(t *testing.T) {
	passing, lasting := errors.New("passing"), errors.New("lasting")
	soon := func(err error) bool { return err == passing }
	for name, c := range map[string]struct {
		errs []error // of the tries; further tries repeat the last
		want error
		most time.Duration
	}{
		"at once":  {[]error{nil}, nil, 0},
		"later":    {[]error{passing, passing, passing, nil}, nil, 7 * time.Millisecond},
		"lasting":  {[]error{lasting}, lasting, 0},
		"in turn":  {[]error{passing, lasting}, lasting, time.Millisecond},
		"too long": {[]error{passing}, passing, 2 * patience},
	} {
		tries, slept := 0, time.Duration(0)
		err := insist(soon, func(d time.Duration) { slept += d }, func() error {
			tries++
			return c.errs[min(tries, len(c.errs))-1]
		})
		if err != c.want || slept > c.most || c.want == passing && slept < patience {
			t.Errorf("%s: %v after %v", name, err, slept)
		}
	}
}

// TestRename replaces a file that others read all the time.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "x")
	if err := os.WriteFile(to, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	read := make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				read <- nil
				return
			default:
				if f, err := os.Open(to); err == nil {
					time.Sleep(2 * time.Millisecond)
					f.Close()
				}
				time.Sleep(time.Millisecond)
			}
		}
	}()
	for range 20 {
		from := filepath.Join(dir, "y")
		if err := os.WriteFile(from, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Rename(from, to); err != nil {
			t.Error(err)
		}
		if err := SyncDir(dir); err != nil {
			t.Error(err)
		}
	}
	if err := Remove(to); err != nil {
		t.Error(err)
	}
	close(done)
	<-read
}
