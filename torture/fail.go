package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// causes are what messages call the errors.
var causes = map[string]string{
	"ENOSPC": "no space left on device", "EIO": "input/output error", "EACCES": "permission denied", "EMFILE": "too many open files",
	"EROFS": "read-only file system", "EINTR": "interrupted system call", "EDQUOT": "disk quota exceeded", "EPERM": "operation not permitted",
	"ENOLCK": "no locks available",
}

// fail lets one system call of the work fail. Either that does not matter, and the work
// comes to the end that it always comes to, or the process exits with 1 and names file and cause.
// Done again without a fault, the work leaves the same bytes.
func (c *campaign) fail(rng *rand.Rand, t *trial) error {
	s := c.subject(rng, func(s *subject) bool { return s.calls != nil })
	t.about = s.name
	dir, err := s.begin(c.site)
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	i := injection{call: pick(rng, slices.Sorted(maps.Keys(s.calls)))}
	errno := pick(rng, errnos[i.call])
	i.nth, i.what = 1+rng.IntN(s.calls[i.call]), "error="+errno
	t.did("%s", i)
	r, line, err := c.site.injected(dir, i, s.command(dir))
	t.did("%s", line)
	if err != nil {
		return err
	}
	if line == "" { // it came to its end without so many calls
		return s.end(c.site, dir)
	}
	t.faults++
	if err := r.clean(); err != nil {
		return err
	}
	file := fileOf(line, dir)
	switch {
	case r.code == 0, file == "": // what a process cannot say if it cannot write, or is not ours
	case r.code != 1:
		return fmt.Errorf("exit %d\n%s", r.code, r.err)
	case !strings.Contains(r.err, causes[errno]):
		return fmt.Errorf("the message does not say %q:\n%s", causes[errno], r.err)
	case !names(r.err, file):
		return fmt.Errorf("the message does not name %s:\n%s", file, r.err)
	}
	return s.end(c.site, dir)
}

// names reports whether a message names a file, one that it is written as until it is
// whole, or the folder that it is in.
func names(message, file string) bool {
	for _, part := range []string{file, filepath.Base(file), filepath.Dir(file)} {
		if part != "." && strings.Contains(message, part) {
			return true
		}
	}
	return false
}
