package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/dsl"
)

// TestFormatOfLongInput formats a spec of the greatest size whole, and refuses a longer one.
func TestFormatOfLongInput(t *testing.T) {
	const spec = "arith 2\n\ntask successor {}\n\n// "
	for _, more := range []int{0, 1} {
		text := spec + strings.Repeat("a", dsl.MaxBytes-len(spec)-1+more) + "\n"
		var said bytes.Buffer
		f, err := formatFile(&shell.Shell{Context: t.Context(), In: strings.NewReader(text), Err: &said}, "-")
		if refused := f == nil; refused != (more > 0) || refused != strings.Contains(said.String(), "more than 1048576") {
			t.Errorf("%d bytes: %v, %v, %s", len(text), f != nil, err, &said)
		}
		if f != nil && string(f.now) != text {
			t.Errorf("%d bytes become %d", len(text), len(f.now))
		}
	}
}
