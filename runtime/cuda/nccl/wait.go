//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	patience = 30 * time.Minute // by default

	shortest = 10 * time.Microsecond // between two calls of done
	longest  = time.Millisecond
	share    = 16 // a wait lasts at most this part longer than necessary
)

// timeout returns how long to wait for other ranks.
func timeout(asked time.Duration) (time.Duration, error) {
	if asked > 0 {
		return asked, nil
	}
	text := os.Getenv("MLC_NCCL_TIMEOUT")
	if text == "" {
		return patience, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("MLC_NCCL_TIMEOUT is %q: want a time such as 90s, 30m or 2h", text)
	}
	return d, nil
}

// until calls done until it returns true, less and less often. Taking longer than the timeout is
// an error.
func (g *group) until(doing string, done func() (bool, error)) error {
	start := time.Now()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		waited := time.Since(start)
		if waited > g.timeout {
			return g.leave(fmt.Errorf("%s: %s: the other ranks have not come for %v: one has ended, or does something else, which its own messages tell; "+
				"MLC_NCCL_TIMEOUT=2h would wait longer", g.name(), doing, g.timeout))
		}
		time.Sleep(min(max(waited/share, shortest), longest))
	}
}

// await waits until the library has accepted a call that returned r.
func (g *group) await(doing string, r result) error {
	return g.until(doing, func() (bool, error) {
		switch r {
		case success:
			return true, nil
		case inProgress:
			r = g.state(g.comm)
			return r == success, nil
		}
		return false, g.leave(g.failure(doing, r))
	})
}

// failure returns the error of a result.
func (g *group) failure(doing string, r result) error {
	meaning, last := g.describe(r)
	text := fmt.Sprintf("%s (%s): %s: %s", g.name(), filepath.Base(g.path), doing, meaning)
	if last != "" {
		text += ": " + last
	}
	return fmt.Errorf("%s\n%s", text, help(r, last))
}

// help returns a remedy for a result and the library's last warning.
func help(r result, last string) string {
	switch {
	case r == invalidUsage && (strings.Contains(last, "Duplicate GPU") || strings.Contains(last, "same GPU")):
		return "start no more ranks on a machine than it has GPUs, each with a GPU of its own (CUDA_VISIBLE_DEVICES must not leave all of them one); " +
			"NCCL 2.30 and later takes several ranks on one GPU, for tests, with NCCL_MULTI_RANK_GPU_ENABLE=1"
	case r == invalidUsage && strings.Contains(last, "ismatched NCCL version"):
		return "give all ranks one library, by its path in MLC_LIBNCCL"
	case r == remoteError || r == systemError:
		return "a rank has ended, which its own messages tell, or the network between the machines does not work: " +
			"NCCL_SOCKET_IFNAME chooses a network, and NCCL_DEBUG=INFO tells more"
	}
	return "NCCL_DEBUG=INFO tells more; --ranks mpi works without NCCL"
}
