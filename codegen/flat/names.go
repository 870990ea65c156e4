package flat

import "fmt"

// taken holds the names of a kernel.
type taken map[string]bool

// name returns a new name, with a numeric suffix if needed.
func (t taken) name(like string) string {
	name := like
	for n := 2; t[name]; n++ {
		name = fmt.Sprintf("%s%d", like, n)
	}
	t[name] = true
	return name
}
