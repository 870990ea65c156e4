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

// Of specs that share a kernel, the part of the first in the table compares it. Parts run
// at once, so each tells what kernels its spec has before it compares any, and waits until
// those before it have told. Of parts that have ended badly only what they have compared
// counts.

// compared is the file of what parts have compared.
const compared = "kernels.done"

// told is the file of the kernels that the spec of a part has.
func told(place int) string { return fmt.Sprintf("kernels-%d.has", place) }

// tellPatience is how long a part waits for another to tell what kernels its spec has,
// which takes it less than a second. One that has died does not: then two may compare a
// kernel.
const tellPatience = 5 * time.Second

// claim tells others what kernels the spec of this part has, and returns those that it can
// leave to others.
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

// await waits until a file is there.
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

// note tells later parts what was compared.
func (e *Env) note(hash string) error {
	f, err := os.OpenFile(filepath.Join(e.dir, compared), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(hash + "\n")
	return errors.Join(err, f.Close())
}
