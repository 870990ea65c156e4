package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLongBlock: a merger searches only arguments for related settings. Searching all
// settings took more than a minute for a spec with 20,000 definitions.
func TestLongBlock(t *testing.T) {
	var b strings.Builder
	b.WriteString("arith 2\nbias long {\n  v0 = 1\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  v%d = v%d + 1\n", i+1, i)
	}
	b.WriteString("  value = v2000\n}\ntrain { optimizer = adamw(lr = 1)\n}\ntrain.optimizer.lr = 2\n")
	c := newChecker(Options{Path: "x.arith", Read: func(string) ([]byte, error) { return []byte(b.String()), nil }, Set: []string{"train.optimizer.lr=3"}})
	c.merge()
	want := []string{"train.optimizer.lr"}
	if got := c.within("train.optimizer"); len(c.order) < 2000 || !slices.Equal(c.argued, want) || !slices.Equal(got, want) {
		t.Errorf("%d settings, with arguments %q, optimizer's %q", len(c.order), c.argued, got)
	}
	c.set("train.optimizer", c.settings["train.optimizer"])
	if len(c.argued) != 0 {
		t.Errorf("%q is left of another value", c.argued)
	}
}
