package flat

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/kernel"
)

// taken holds the names of a kernel.
type taken map[string]bool

func namesOf(k *kernel.Kernel) taken {
	t := taken{}
	for _, p := range k.Params {
		t[p.Name] = true
	}
	for _, a := range k.Grid {
		t[a.Var] = true
	}
	for s := range kernel.All(k.Body) {
		for name := range kernel.Names(s) {
			t[name] = true
		}
	}
	return t
}

// name returns a new name, with a numeric suffix if needed.
func (t taken) name(like string) string {
	name := like
	for n := 2; t[name]; n++ {
		name = fmt.Sprintf("%s%d", like, n)
	}
	t[name] = true
	return name
}
