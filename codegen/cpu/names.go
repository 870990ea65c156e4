package cpu

import (
	"go/token"
	"go/types"
	"maps"
	"strconv"
	"strings"
	"unicode"

	"github.com/arithlang/mlc/codegen/gocode"
)

// names gives the names of a kernel Go identifiers. They differ from each other, from Go's own
// and from the names that every kernel function uses.
type names struct {
	ids   map[string]string // Go identifiers by name in the kernel
	taken map[string]bool
	used  map[string]bool // identifiers that id returned since they were made
}

func newNames(reserved ...string) *names {
	n := &names{ids: map[string]string{}, taken: map[string]bool{}, used: map[string]bool{}}
	for _, r := range reserved {
		n.taken[r] = true
	}
	return n
}

// id returns the identifier of a name and makes it on the first call.
func (n *names) id(name string) string {
	id, ok := n.ids[name]
	if !ok {
		id = n.bind(name)
	}
	n.used[id] = true
	return id
}

// bind gives a name a new identifier.
func (n *names) bind(name string) string { return n.bindAs(name, name) }

// bindAs gives a name a new identifier that resembles another.
func (n *names) bindAs(name, like string) string {
	id := n.fresh(like)
	n.ids[name] = id
	n.used[id] = false
	return id
}

// fresh returns a new identifier that resembles a name.
func (n *names) fresh(name string) string {
	base := identifier(name)
	id := base
	for i := 2; n.taken[id] || token.IsKeyword(id) || types.Universe.Lookup(id) != nil; i++ {
		id = base + strconv.Itoa(i)
	}
	n.taken[id] = true
	return id
}

// scope calls f and forgets the identifiers that f made.
func (n *names) scope(f func()) {
	ids, taken := n.ids, n.taken
	n.ids, n.taken = maps.Clone(ids), maps.Clone(taken)
	f()
	n.ids, n.taken = ids, taken
}

// identifier turns any name, such as "d.weight", into a Go identifier.
func identifier(name string) string {
	id := gocode.Name(name)
	switch {
	case id == "":
		return "x"
	case strings.IndexFunc(id, unicode.IsDigit) == 0:
		return "k" + id
	}
	return id
}
