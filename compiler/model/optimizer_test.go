package model

import (
	"maps"
	"slices"
	"testing"

	"github.com/arithlang/mlc/dsl"
)

// TestOptimizers wants a row for each optimizer that a spec can name, and no other.
func TestOptimizers(t *testing.T) {
	var names []string
	for _, o := range dsl.NewSchema().Row("train.optimizer").Choices {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	if rows := slices.Sorted(maps.Keys(optimizers)); !slices.Equal(rows, names) {
		t.Errorf("there are rows for %q, and the schema has %q", rows, names)
	}
}
