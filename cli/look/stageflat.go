package look

import (
	"strings"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
)

// flatText prints the kernels that are asked for after the passes of the processor,
// and once more after those of a GPU where that is something else.
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
