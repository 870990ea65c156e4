package ptxtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/internal/full"
)

// TestShipped takes kernels of specs once that differ by their names alone.
func TestShipped(t *testing.T) {
	all, err := Shipped("../../../specs")
	if err != nil {
		t.Fatal(err)
	}
	n, distinct := 0, 0
	for _, s := range all {
		n += len(s.Kernels)
	}
	for _, s := range Distinct(all) {
		distinct += len(s.Kernels)
	}
	if len(all) < len(Representatives) || distinct < 200 || distinct >= n {
		t.Errorf("%d specs with %d kernels, %d of them distinct", len(all), n, distinct)
	}
}

// TestRepresentatives wants each combination of kind, schedule, closed cells, bias, window, dropout
// and packed rows of any spec in a representative.
func TestRepresentatives(t *testing.T) {
	full.Only(t)
	has := regexp.MustCompile(`(?m)_(bias|window|dropout)|-inf|^  in +(row|example)_\w+`)
	forms := func(all bool) map[string]bool {
		specs, err := shipped("../../../specs", all)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, s := range specs {
			for _, k := range s.Kernels {
				with := has.FindAllString(k.String(), -1)
				slices.Sort(with)
				found[k.Kind+", "+ptx.Choose(k, s.Options).Name+strings.Join(slices.Compact(with), "")] = true
			}
		}
		return found
	}
	few, all := forms(false), forms(true)
	maps.DeleteFunc(all, func(form string, _ bool) bool { return few[form] })
	if len(all) > 0 {
		t.Errorf("none of the representatives has\n%s", strings.Join(slices.Sorted(maps.Keys(all)), "\n"))
	}
}
