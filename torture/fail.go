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

// causes are the texts of the errors in messages.
var causes = map[string]string{
	"ENOSPC": "no space left on device", "EIO": "input/output error", "EACCES": "permission denied", "EMFILE": "too many open files",
	"EROFS": "read-only file system", "EINTR": "interrupted system call", "EDQUOT": "disk quota exceeded", "EPERM": "operation not permitted",
	"ENOLCK": "no locks available",
}

// fail lets one system call of the work fail. Either the work succeeds all the same, or the
// process exits with 1 and names file and cause. Repeated without a fault, the work leaves the
// same bytes.
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
	r, lines, err := c.site.injected(dir, i, s.command(dir))
	t.did("%s", strings.Join(lines, "; "))
	if err != nil {
		return err
	}
	if len(lines) == 0 { // the work ended before that call
		return s.end(c.site, dir)
	}
	if strings.Contains(strings.Join(lines, "\n"), "<anon_inode:") { // Go's runtime wakes itself with these
		return s.end(c.site, dir)
	}
	t.faults++
	if err := r.clean(); err != nil {
		return err
	}
	if err := r.names(lines, dir, causes[errno]); err != nil {
		return err
	}
	return s.end(c.site, dir)
}

// names checks that a failed process named the cause and one of the files whose calls failed. It
// need not if the failed call wrote its output.
func (r said) names(lines []string, dir, cause string) error {
	switch r.code {
	case 0:
		return nil
	case 1:
	case 127: // the loader could not read a library, so the program did not begin
		if strings.Contains(r.err, "error while loading shared libraries") {
			return nil
		}
		fallthrough
	default:
		return fmt.Errorf("exit %d\n%s", r.code, r.err)
	}
	var files []string
	for _, line := range lines {
		file := fileOf(line, dir)
		if file == "" || names(r.err, file) && strings.Contains(r.err, cause) {
			return nil
		}
		files = append(files, file)
	}
	return fmt.Errorf("exit %d, and the message does not name %q and %s:\n%s", r.code, cause, strings.Join(files, ", "), r.err)
}

// names reports whether a message names a file, its base name or its folder.
func names(message, file string) bool {
	for _, part := range []string{file, filepath.Base(file), filepath.Dir(file)} {
		if part != "." && strings.Contains(message, part) {
			return true
		}
	}
	return false
}
