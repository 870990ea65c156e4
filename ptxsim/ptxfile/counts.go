package ptxfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/ptxsim"
)

// countsText returns a table of a launch's memory requests and instructions.
func countsText(c *ptxsim.Counts) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, n ...int64) {
		fmt.Fprint(w, name)
		for _, x := range n {
			fmt.Fprintf(w, "\t%d", x)
		}
		fmt.Fprintln(w, "\t")
	}
	if c.Global().Requests+c.Local.Requests > 0 {
		fmt.Fprintln(w, "\trequests\tsectors\tbytes\t")
	}
	for _, t := range []struct {
		name string
		ptxsim.Traffic
	}{
		{"global loads", c.Loads}, {"global stores", c.Stores}, {"global atomics", c.Atomics}, {"asynchronous copies", c.Copies}, {"local memory", c.Local},
	} {
		if t.Requests > 0 {
			row(t.name, t.Requests, t.Sectors, t.Bytes)
		}
	}
	if c.Shared().Requests > 0 {
		fmt.Fprintln(w, "\trequests\twavefronts\tconflicts\t")
	}
	for _, t := range []struct {
		name string
		ptxsim.Banks
	}{{"shared loads", c.SharedLoads}, {"shared stores", c.SharedStores}, {"shared atomics", c.SharedAtomics}} {
		if t.Requests > 0 {
			row(t.name, t.Requests, t.Wavefronts, t.Conflicts)
		}
	}
	w.Flush()
	fmt.Fprintf(&b, "bytes of global memory, each once: %d read, %d written\n", c.Fetched, c.Kept)
	fmt.Fprintf(&b, "%d instructions of warps", c.Total())
	sep := ": "
	for _, class := range ptxsim.Classes() {
		if n := c.Instructions[class]; n > 0 {
			fmt.Fprintf(&b, "%s%d %v", sep, n, class)
			sep = ", "
		}
	}
	b.WriteByte('\n')
	for _, name := range slices.Sorted(maps.Keys(c.Products)) {
		fmt.Fprintf(&b, "%d %s\n", c.Products[name], name)
	}
	return b.String()
}
