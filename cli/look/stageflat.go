package look

import (
	"strings"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
)

// flatText prints the requested kernels after the passes for the processor, and also after
// the passes for a GPU where the result differs.
func flatText(p *compiler.Program, only string) (string, error) {
	var texts []string
	o := codegen.ModuleOptions(p.Lowered)
	for _, k := range launched(p, only) {
		text := flat.Of(k, flat.Processor()).String()
		texts = append(texts, text)
		if other := ptx.Choose(k, o).Flat.String(); other != text {
			texts = append(texts, "// The same for a GPU.\n"+other)
		}
	}
	return strings.Join(texts, "\n"), nil
}
