package model_test

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
)

// TestPlaces compares windows over places in numbers with windows over tokens, for texts
// of a known layout. Loss and gradients have the same bits.
func TestPlaces(t *testing.T) {
	source, target := []int64{4, 7, 9, 6, 4, 14, 5, 8}, []int64{4, 11, 6, 5}
	text := []int64{9, 12, 14, 4, 7, 5, 14, 8}
	for _, c := range []struct {
		name, spec     string
		places, tokens []string
	}{
		{"encoder-decoder", smallAddition,
			[]string{"model.encoder.layers=1", "model.encoder.self.mask=dj == di", "model.decoder.self.mask=dj >= di - h", "model.decoder.cross.mask=h == 0 && dj == di || h == 1 && dj == di + 1"},
			[]string{"model.encoder.layers=1", "model.encoder.self.mask=mod(i, 4) == mod(j, 4)", "model.decoder.self.mask=j >= i - h", "model.decoder.cross.mask=h == 0 && mod(j, 4) == i || h == 1 && mod(j, 4) == i + 1"}},
		{"numbers", smallText,
			[]string{"model.decoder_only.self.mask=nj == ni - 1 && dj <= 1 || j == i"},
			[]string{"model.decoder_only.self.mask=(i == 2 || i >= 3 && i <= 5) && j == 0 || i >= 6 && (j == 2 || j == 3) || j == i"}},
		{"loop", smallText,
			[]string{"model.decoder_only.self.mask=dj == di + 1 || j == i", "model.decoder_only.self.bias=-0.3 * dj"},
			[]string{"model.decoder_only.self.mask=i == 2 && (j == 0) || i == 3 && j == 1 || i == 6 && (j == 0 || j == 3) || i == 7 && (j == 1 || j == 4) || j == i",
				"model.decoder_only.self.bias=-0.3 * where(j == 0 || j == 3 || j == 7, 1, where(j == 1 || j == 4, 2, where(j == 5, 3, 0)))"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := target
			if c.spec == smallText {
				rows = text
			}
			of := func(set []string) *training {
				r := trainingOf(t, c.spec, set)
				r.dims["T"], r.dims["C"] = len(rows), len(rows)
				r.inputs = map[string]ir.Tensor{model.SourceTokens: twice(source), model.TargetTokens: twice(rows), model.Labels: twice(rows)}
				return r
			}
			a, b := of(c.places), of(c.tokens)
			if x, y := a.step(a.params), b.step(b.params); x != y || math.IsNaN(x) {
				t.Errorf("a loss of %v, and over tokens %v", x, y)
			}
			for i, x := range a.grads {
				if y := b.grads[i]; x != y {
					t.Fatalf("gradient %d is %v, and over tokens %v", i, x, y)
				}
			}
		})
	}
}

// TestPlacesOfExamples compares texts of several layouts in one launch with each alone.
func TestPlacesOfExamples(t *testing.T) {
	r := trainingOf(t, smallText, []string{"model.decoder_only.self.mask=dj == di + 1 || dj == di"})
	texts := [][]int64{{9, 14, 4, 7, 14, 5}, {8, 8, 8, 14, 5, 14}}
	loss := func(texts ...[]int64) float64 {
		x := ir.Tensor{Shape: []int{len(texts), 6}}
		for _, text := range texts {
			x.I = append(x.I, text...)
		}
		r.dims["B"], r.dims["T"], r.dims["C"] = len(texts), 6, 6
		r.inputs = map[string]ir.Tensor{model.TargetTokens: x, model.Labels: x}
		return r.step(r.params)
	}
	both, each := loss(texts...), loss(texts[0])+loss(texts[1])
	if math.Abs(both-each) > 1e-12*each {
		t.Errorf("a loss of %v together and %v alone", both, each)
	}
	swapped := loss([]int64{9, 14, 4, 7, 14, 5}, []int64{8, 14, 8, 8, 14, 5})
	if swapped == both {
		t.Error("another layout has the same loss")
	}
}

// twice returns a tensor of two equal examples.
func twice(text []int64) ir.Tensor {
	return ir.Tensor{Shape: []int{2, len(text)}, I: append(append([]int64(nil), text...), text...)}
}

func trainingOf(t *testing.T, spec string, set []string) *training {
	t.Helper()
	s, list := check.Resolve(check.Options{Path: "small.arith", Set: set, Read: func(string) ([]byte, error) { return []byte(spec), nil }})
	if list.HasErrors() {
		t.Fatal(list)
	}
	p, err := model.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return newTraining(t, p)
}
