package cli

import (
	"strings"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
)

// flatText prints the kernels that are asked for in flat form, and once more as a
// GPU has them where its cells are others.
func flatText(p *compiler.Program, only string) (string, error) {
	var texts []string
	for _, k := range launched(p, only) {
		text := flat.Of(k, flat.Processor()).String()
		texts = append(texts, text)
		if other := flat.Of(k, ptx.Passes()).String(); other != text {
			texts = append(texts, "// The same for a GPU.\n"+other)
		}
	}
	return strings.Join(texts, "\n"), nil
}
