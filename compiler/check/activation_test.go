package check

import (
	"maps"
	"slices"
	"testing"

	"github.com/arithlang/mlc/dsl"
)

// TestActivations: the schema lists every activation for layers, and the gated ones for
// the head.
func TestActivations(t *testing.T) {
	options := func(path string) (names []string) {
		for _, o := range dsl.NewSchema().Row(path).Choices {
			names = append(names, o.Name)
		}
		slices.Sort(names)
		return names
	}
	all := slices.Sorted(maps.Keys(Activations))
	if got := options("model.ffn"); !slices.Equal(got, all) {
		t.Errorf("model.ffn has %v, the table %v", got, all)
	}
	head := slices.DeleteFunc(all, func(name string) bool { return !Activations[name].Gated })
	head = append(head, "none")
	slices.Sort(head)
	if got := options("model.head"); !slices.Equal(got, head) {
		t.Errorf("model.head has %v, want %v", got, head)
	}
}
