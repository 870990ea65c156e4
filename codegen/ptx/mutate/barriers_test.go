package mutate

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
)

const (
	barriersFile    = "barriers.md"
	barriersPreface = `# Barriers that were tried

Written by ` + "`go test -tags full ./codegen/ptx/mutate -run Barriers -update -timeout 0`" + `, never by hand.

The kernels of all specs whose PTX has barriers. Each ran without each of its barriers, one at a time. *Found* counts the
barriers whose absence the simulator reported, or whose absence changed a result. The others are *needless*, as far as the
gate's launches show. *PTX* is a hash of the kernel's text without its name and the lines of the spec. The test tries every
barrier again if the hash is new. A dash marks a kernel that no run has reached yet. A change of only the simulator, the
launches or the inputs is not noticed:
` + "`make gate`" + ` tries all barriers again.

| kernel | PTX | barriers | found | needless |
|---|---|---:|---:|---:|
`
)

// untried stands for the numbers of a kernel whose barriers no run has tried.
const untried = "– | – | – |\n"

// mostUntried is the most untried kernels. It may fall but never grow: every changed kernel is
// tried before it goes on the list.
const mostUntried = 0

// TestBarriers tries every barrier of every shipped kernel that is not on the committed list, and
// wants each found. With -update the kernel goes on the list with its result.
func TestBarriers(t *testing.T) {
	full.Only(t)
	specs, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	l, err := readBarriers()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("kernels", func(t *testing.T) {
		for _, s := range specs {
			for _, k := range s.Kernels {
				code, err := ptx.Module([]*kernel.Kernel{k}, s.Options)
				if err != nil {
					t.Fatal(err)
				}
				name, hash := nameOf(s)+"/"+k.Name, hashOf(k, code)
				if !barrier.Match(code.Text) || !l.name(name, hash) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if end, ok := t.Deadline(); ok && time.Until(end) < 3*time.Minute {
						t.Fatalf("no time is left to try its barriers: go test -tags full ./codegen/ptx/mutate -run Barriers -update -timeout 0")
					}
					if err := l.try(t, k, s.Options, hash); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	})
	if golden.Updating() {
		if err := l.write(); err != nil {
			t.Error(err)
		}
	}
	if n := l.untried(); n > mostUntried {
		t.Errorf("the list has %d kernels whose barriers nobody has tried, %d more than it may: go on with -update -timeout 0", n, n-mostUntried)
	}
}

// TestBarriersAreAsListed tries the barriers of one kernel again, which is on the list.
func TestBarriersAreAsListed(t *testing.T) {
	specs, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	l, err := readBarriers()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		if nameOf(s) != "tiny" {
			continue
		}
		for _, k := range s.Kernels {
			code, err := ptx.Module([]*kernel.Kernel{k}, s.Options)
			if err != nil {
				t.Fatal(err)
			}
			want := l.found[hashOf(k, code)]
			if want == "" || want == untried {
				continue
			}
			tried, needless, err := tryBarriers(k, s.Options)
			if got := row(tried, len(needless)); err != nil || got != want {
				t.Errorf("%s: barriers, found, needless: %s the list has %s (%v)", k.Name, got, want, err)
			}
			return
		}
	}
	t.Error("no kernel of the spec tiny is on the list")
}

var (
	barrier = regexp.MustCompile(`\tbar\.(warp\.)?sync `)
	origin  = regexp.MustCompile(`(?m)^(//|\.file|\t\.loc) .*\n`)
)

// hashOf hashes a kernel's text without its name and origin.
func hashOf(k *kernel.Kernel, code ptx.Output) string {
	text := strings.ReplaceAll(string(origin.ReplaceAll(code.Text, nil)), k.Name, "")
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]
}

// Barriers are the rows of the list.
type barriers struct {
	mu    sync.Mutex
	names []string          // names of shipped kernels, as hashes in hash
	hash  []string          // hashes of shipped kernels, in order
	found map[string]string // the last columns of each row, by hash
}

func readBarriers() (*barriers, error) {
	l := &barriers{found: map[string]string{}}
	text, err := os.ReadFile(barriersFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.SplitN(line, " | ", 3); len(cells) == 3 {
			l.found[cells[1]] = cells[2]
		}
	}
	return l, nil
}

// name notes a shipped kernel. It reports whether to try its barriers.
func (l *barriers) name(name, hash string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.hash {
		if h == hash {
			return false
		}
	}
	l.names, l.hash = append(l.names, name), append(l.hash, hash)
	return l.found[hash] == "" || l.found[hash] == untried && golden.Updating()
}

// spare reports whether some of the barriers of a kernel are needless.
func (l *barriers) spare(hash string) bool {
	found := l.found[hash]
	return found != "" && found != untried && !strings.HasSuffix(found, " | 0 |\n")
}

// untried counts the shipped kernels that no run has come to.
func (l *barriers) untried() (n int) {
	for _, h := range l.hash {
		if cmp.Or(l.found[h], untried) == untried {
			n++
		}
	}
	return n
}

// try tries the barriers of a kernel.
func (l *barriers) try(t *testing.T, k *kernel.Kernel, o ptx.Options, hash string) error {
	tried, needless, err := tryBarriers(k, o)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.found[hash] = row(tried, len(needless))
	l.mu.Unlock()
	if golden.Updating() {
		return l.write()
	}
	for _, m := range needless {
		t.Errorf("%v: nothing finds it: a needless barrier, or one that the launches do not show: %s", m, m.reason())
	}
	return nil
}

// tryBarriers runs a kernel without each of its barriers, and returns the needless ones. It
// launches as many blocks as are worth it, one block, and replicas. The detection of a race does
// not depend on the order of threads and warps.
func tryBarriers(k *kernel.Kernel, o ptx.Options) (tried int, needless []Mutant, err error) {
	ts, err := trialsOf(k, o, ptxtest.Ways()[:3])
	if err != nil {
		return 0, nil, err
	}
	for _, m := range Of(ts.code) {
		if m.Kind != Barrier {
			continue
		}
		found, err := ts.attempt(m, nil)
		if err != nil {
			return tried, needless, err
		}
		tried++
		if found == "" || strings.HasPrefix(found, equivalent) {
			needless = append(needless, m)
		}
	}
	return tried, needless, nil
}

// row returns the last columns of a kernel's row.
func row(tried, needless int) string {
	return fmt.Sprintf("%d | %d | %d |\n", tried, tried-needless, needless)
}

// write replaces the file by the kernels whose barriers were tried until now.
func (l *barriers) write() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	b.WriteString(barriersPreface)
	for i, hash := range l.hash {
		fmt.Fprintf(&b, "| %s | %s | %s", l.names[i], hash, cmp.Or(l.found[hash], untried))
	}
	return replace(barriersFile, b.String())
}
