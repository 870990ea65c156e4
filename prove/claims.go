package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
)

// If specs share a kernel, the part of the first spec in the table compares it. Parts run at the
// same time. So each part publishes the kernels of its spec before it compares any, and waits
// until the parts before it have published theirs. For parts that did not pass, only the kernels
// that they did compare count.

// compared is the file that lists the compared kernels.
const compared = "kernels.done"

// told returns the file that lists the kernels of a part's spec.
func told(place int) string { return fmt.Sprintf("kernels-%d.has", place) }

// tellPatience is how long a part waits for another to publish its kernels, which takes less than
// a second. A part that has died never does; then a kernel may be compared twice.
const tellPatience = 5 * time.Second

// claim publishes the kernels of this part's spec, and returns the kernels that it can leave to
// others.
func (e *Env) claim(ctx context.Context, mine []string) (theirs map[string]bool, err error) {
	if err := ckpt.WriteFile(filepath.Join(e.dir, told(e.place)), []byte(strings.Join(mine, "\n"))); err != nil {
		return nil, err
	}
	theirs = map[string]bool{}
	files := []string{compared}
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	for _, place := range e.before {
		file := told(place)
		e.await(ctx, file)
		files = append(files, file)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(e.dir, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, hash := range strings.Fields(string(text)) {
			theirs[hash] = true
		}
	}
	return theirs, nil
}

// await waits until a file exists.
func (e *Env) await(ctx context.Context, file string) {
	for ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(e.dir, file)); err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// note records that a kernel was compared, for later parts.
func (e *Env) note(hash string) error {
	f, err := os.OpenFile(filepath.Join(e.dir, compared), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(hash + "\n")
	return errors.Join(err, f.Close())
}
