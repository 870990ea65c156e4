package look

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
)

// scheduleText prints a line for each requested kernel: its schedule on a GPU, the size of
// a block's piece, and why earlier schedules do not fit.
func scheduleText(p *compiler.Program, only string) (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	o := codegen.ModuleOptions(p.Lowered)
	for _, k := range launched(p, only) {
		c := ptx.Choose(k, o)
		fmt.Fprintf(w, "%s\t%s\t%s", k.Name, c.Name, c.Pieces)
		if len(c.Unfit) > 0 {
			fmt.Fprintf(w, "\t%s", strings.Join(c.Unfit, "; "))
		}
		fmt.Fprintln(w)
	}
	err := w.Flush()
	return b.String(), err
}
