package check

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestMeanPasses compares the means of a progressive loss with sums over all draws, and
// some with the fact sheet of arXiv:2405.17399.
func TestMeanPasses(t *testing.T) {
	for _, c := range []struct {
		times, most int
		alpha       float64
		want        Passes
	}{
		{1, 1, 1, Passes{1, 0, 1}},
		{2, 1, 1, Passes{1, 0.5, 1}},
		{4, 2, 1, Passes{1, 1.5, 1.375}},
		{8, 4, 1, Passes{1, 3.5, 2.125}},
		{16, 8, 1, Passes{1, 7.5, 3.625}},
		{16, 8, 0, Passes{1, 8, 8}},
		{16, 8, 0.5, Passes{2, 15.5, 11.625}},
	} {
		s := &Spec{Model: Model{Loop: &Loop{Times: c.times}}, Train: Train{Train: config.Train{Progressive: true, Backprop: c.most, Alpha: c.alpha}}}
		got := s.MeanPasses()
		for i, x := range []float64{got.Count - c.want.Count, got.NoGrad - c.want.NoGrad, got.WithGrad - c.want.WithGrad} {
			if math.Abs(x) > 1e-12 {
				t.Errorf("R = %d, K = %d, alpha = %g: %+v, want %+v (number %d)", c.times, c.most, c.alpha, got, c.want, i)
			}
		}
	}
	plain := &Spec{Model: Model{Loop: &Loop{Times: 5}}, Train: Train{Train: config.Train{Backprop: 5}}}
	if got := plain.MeanPasses(); got != (Passes{1, 0, 5}) {
		t.Errorf("cross entropy: %+v", got)
	}
}

// TestBackpropAndGroups resolves values that a spec leaves open.
func TestBackpropAndGroups(t *testing.T) {
	const looped = "model.decoder_only { times = %d }\n"
	for _, c := range []struct {
		text            string
		backprop, group int
	}{
		{"", 1, 0},
		{"train.microbatch = 32", 1, 0},
		{fmt.Sprintf(looped, 16), 16, 64},
		{fmt.Sprintf(looped, 16) + "train.loss = progressive()", 8, 64},
		{fmt.Sprintf(looped, 1) + "train.loss = progressive()", 1, 64},
		{fmt.Sprintf(looped, 5) + "train.loss = progressive(backprop = 3)", 3, 64},
		{fmt.Sprintf(looped, 2) + "train.loss = progressive(backprop = 3)", 2, 64},
		{fmt.Sprintf(looped, 2) + "train { batch = 1024  microbatch = 512 }", 2, 512},
		{fmt.Sprintf(looped, 2) + "train.batch = 20", 2, 20},
		{"model.embed.position = abacus()", 1, 64},
		{"model.embed.position = shifted()", 1, 0},
	} {
		s, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition {}\n" + c.text}, "a.arith")
		if list.HasErrors() {
			t.Errorf("%s: %v", c.text, list)
			continue
		}
		if s.Train.Backprop != c.backprop || s.DrawGroup() != c.group {
			t.Errorf("%s: backprop %d, draw group %d, want %d, %d", c.text, s.Train.Backprop, s.DrawGroup(), c.backprop, c.group)
		}
	}
}

// TestDecayOfFire: weight decay applies to FIRE's parameters that are not biases, and
// otherwise only on request.
func TestDecayOfFire(t *testing.T) {
	s := one(t, "task addition {}\nbias own {\n  a = learned([H], decay = true, shared = true)\n  b = learned([H])\n  value = a[h] + b[h]\n}\n\nmodel.decoder.self.bias = fire() + own")
	want := map[string]bool{"fire.w1": true, "fire.w2": true, "fire.scale": true, "fire.reach": true, "own.a": true}
	if n := len(s.Model.Decoder.Self.Params); n != 8 {
		t.Fatalf("%d parameters, want 8", n)
	}
	for _, l := range s.Model.Decoder.Self.Params {
		if l.Decay != want[l.Name] {
			t.Errorf("%s decays: %t", l.Name, l.Decay)
		}
	}
}

// TestChunk refuses chunks that are larger than the batch, or that whole launches do not
// fill. Draw groups do not matter.
func TestChunk(t *testing.T) {
	const loop = "model { decoder_only {} }\n"
	for text, want := range map[string]string{
		"train.chunk = 128":                                      "",
		"train.chunk = 129":                                      "chunk = 129 is larger than batch = 128",
		"train.chunk = 0":                                        "chunk",
		"train.batch = 7\ntrain.chunk = 3":                       "",
		"train.microbatch = 4\ntrain.chunk = 12":                 "",
		"train.microbatch = 4\ntrain.chunk = auto":               "",
		"train.microbatch = 4\ntrain.chunk = 6":                  "chunk = 6 is no multiple of microbatch = 4",
		"train.microbatch = 4\ntrain.chunk = 3":                  "chunk = 3 is no multiple of microbatch = 4",
		loop + "train.microbatch = 4\ntrain.chunk = 6":           "",
		loop + "train.microbatch = 4\ntrain.chunk = 1":           "",
		loop + "train.microbatch = 4\ntrain.chunk = 200":         "chunk = 200 is larger",
		"sweep { train.chunk = [auto, 1, 4, 128] }":              "",
		"sweep { train.chunk = [4, 256] }":                       "chunk = 256 is larger",
		"sweep { train.batch = [8, 16]  train.chunk = [4, 16] }": "chunk = 16 is larger than batch = 8",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition {}\n" + text + "\n"}, "a.arith")
		got := ""
		for _, d := range list {
			got += d.Message
		}
		if list.HasErrors() != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestRampFrom refuses impossible first sizes of a growing batch.
func TestRampFrom(t *testing.T) {
	for text, want := range map[string]string{
		"ramp = grow(60%, 4)":                 "",
		"ramp = grow(over = 60%, from = 128)": "",
		"ramp = grow(over = 60%, from = 129)": "from = 129 is larger than batch = 128",
		"ramp.from = 4":                       `train.ramp = none has no argument "from"`,
		"ramp = grow(0%)":                     "train.ramp.over = 0% is out of range",
		"ramp = grow(from = 4)":               "grow needs over",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition {}\ntrain { " + text + " }\n"}, "a.arith")
		got := ""
		for _, d := range list {
			got += d.Message
		}
		if list.HasErrors() != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
