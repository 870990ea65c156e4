package device_test

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/device"
)

// TestFlat lists parameters at their places. The names of a deeper stack include the names of a
// shallower one; a group that is no stack has no layer number.
func TestFlat(t *testing.T) {
	params := []device.Param{{Name: "w", Shape: []int{2, 3}}, {Name: "b", Shape: []int{3}}}
	names := func(layers int) (out []string) {
		embed := &device.Group{Name: "embed", Layers: 1, Params: params[:1]}
		stack := &device.Group{Name: "decoder", Stack: true, Off: 6, Layers: layers, Stride: 9, Params: params}
		offs := []int{0}
		for l := range layers {
			offs = append(offs, 6+9*l, 12+9*l)
		}
		for i, p := range device.Flat(embed, stack) {
			out = append(out, p.Name)
			if p.Off != offs[i] {
				t.Errorf("%d layers: %s is at %d, want %d", layers, p.Name, p.Off, offs[i])
			}
		}
		return out
	}
	if got, want := names(2), []string{"embed.w", "decoder.0.w", "decoder.0.b", "decoder.1.w", "decoder.1.b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := names(1), names(2)[:3]; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
