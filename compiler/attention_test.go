package compiler_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/model"
)

// A peerAttention is the input of the softmax in a peer's last decoder layer, for the
// first batch: [B, H, T, T] and [B, H, T, S]. A score is nil where the mask hides the
// key.
type peerAttention struct{ Self, Cross []*float64 }

// How far a score or a weight may be from its peer. The difference is relative if the
// peer's number is above 1.
const (
	// For values of about 1: the rounding of a few layers.
	captureTolerance = 2e-6

	// For the weights of rows that lines close with -5e3, where float32 has steps of
	// 5e-4.
	closingTolerance = 5e-4
)

// TestPeerAttention compares the attention that a calibration reads with PyTorch's.
func TestPeerAttention(t *testing.T) {
	hold := func(name, of string, tolerance float64) {
		t.Run(name+" "+of, func(t *testing.T) {
			for _, d := range newCapture(t, name, "of = "+of).compare(t, readPeer(t, name), of, tolerance) {
				t.Error(d)
			}
		})
	}
	for _, name := range []string{"windows", "kerple", "alibi_published", "rope", "rope_input", "shaw", "lines", "mixed"} {
		hold(name, "logits", captureTolerance)
	}
	for _, name := range []string{"encoder", "alibi", "lines"} { // alibi's logits differ from its peer's by a constant, which softmax ignores
		hold(name, "weights", captureTolerance)
	}
	hold("closing", "weights", closingTolerance)
}

// TestPeerAttentionTellsModelsApart makes sure that the comparison notices a small change
// of the model.
func TestPeerAttentionTellsModelsApart(t *testing.T) {
	const weights = "of = weights"
	mutations := []struct{ peer, reading, set string }{
		{"kerple", "layer = 1", ""},
		{"windows", "of = logits", ""},
		{"windows", weights, "model.decoder.cross.mask = abs(J - 1 - i - j) <= 1"},
		{"encoder", weights, "model.decoder.self.scale = 0.4999"},
		{"alibi", weights, "model.decoder.self.bias = 0.9999 * alibi()"},
		{"rope_input", weights, "model.decoder.cross.rotary = rope(of = input)"},
		{"shaw", weights, "model.decoder.self.bias = -0.001 * abs(i - j)"},
		{"closing", weights, "stage.second.model.decoder.cross.mask = i + j != 6"},
		{"lines", weights, "stage.second.model.decoder.cross.bias = 0.501 * lines.cross"},
	}
	for _, m := range mutations {
		t.Run(fmt.Sprint(m), func(t *testing.T) {
			var set []string
			if m.set != "" {
				set = append(set, m.set)
			}
			if len(newCapture(t, m.peer, m.reading, set...).compare(t, readPeer(t, m.peer), "weights", captureTolerance)) == 0 {
				t.Error("it agrees with its peer, which it should not")
			}
		})
	}
}

// newCapture compiles a peer's model with a calibration that reads it. In a spec with
// stages the calibration reads the last one.
func newCapture(t *testing.T, name, reading string, set ...string) *trainee {
	t.Helper()
	const read, reader = "second", "\ncalibrate reader {\n from = second\n %s\n}\nstage third {}\nvet { unused_stage = off }\n"
	spec, err := os.ReadFile(peerSpec(name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(spec) + fmt.Sprintf(reader, reading)
	if p := readPeer(t, name); !slices.ContainsFunc(p.Params, func(x peerParam) bool { return strings.HasPrefix(x.Name, "fixed.") }) {
		text = strings.Replace(text, "\ncalibrate reader", "\nstage second {}\ncalibrate reader", 1)
	}
	o := check.Options{Path: peerSpec(name), Set: set, Read: func(path string) ([]byte, error) {
		if path == peerSpec(name) {
			return []byte(text), nil
		}
		return os.ReadFile(path)
	}}
	for _, p := range compilePeer(t, o).Trainings() {
		if p.Stage == read {
			return traineeOf(t, p, readPeer(t, name).Params)
		}
	}
	t.Fatal("there is no stage ", read)
	return nil
}

// compare runs the program attention on the peer's first batch and lists the differences
// of its weights or logits.
func (r *trainee) compare(t *testing.T, p *peer, of string, tolerance float64) []string {
	t.Helper()
	e := r.program.Entry("attention")
	if e == nil {
		t.Fatal("there is no program attention")
	}
	b := p.Batches[0]
	rows, keys := len(b.Target[0]), len(b.Source[0])
	s := b.scalars(0, rows)
	r.machine.Prepare(e, s)
	copy(r.machine.Ints(e, model.SourceTokens, 0), slices.Concat(b.Source...))
	copy(r.machine.Ints(e, model.TargetTokens, 0), slices.Concat(b.Target...))
	r.run(t, e, s)
	var diffs []string
	for _, site := range []struct {
		name string
		keys int
		want []*float64
	}{{model.Self, rows, p.Attention.Self}, {model.Cross, keys, p.Attention.Cross}} {
		got := r.machine.Floats(e, site.name, 0)
		if len(site.want) == 0 || len(got) < len(site.want) {
			t.Fatalf("%s has %d elements, its peer %d", site.name, len(got), len(site.want))
		}
		n := 0
		for row := range slices.Chunk(site.want, site.keys) {
			if d := distanceOf(got[n:][:site.keys], wanted(row, of)); !(d <= tolerance) {
				diffs = append(diffs, fmt.Sprintf("the %s of %s, row %d, are %g off", of, site.name, n/site.keys, d))
			}
			n += site.keys
		}
	}
	return diffs
}

// wanted returns a peer's scores of a query, or their softmax if of is "weights".
func wanted(scores []*float64, of string) []float64 {
	out, largest, sum := make([]float64, len(scores)), math.Inf(-1), 0.0
	for k, x := range scores {
		out[k] = math.Inf(-1)
		if x != nil {
			out[k] = *x
		}
		largest = max(largest, out[k])
	}
	if of == "logits" {
		return out
	}
	for _, x := range out {
		sum += math.Exp(x - largest)
	}
	for k, x := range out {
		out[k] = math.Exp(x-largest) / sum
	}
	return out
}

// distanceOf returns the largest difference between two elements, relative to the wanted
// one if that is above 1. Infinite elements must be equal.
func distanceOf(got []float32, want []float64) float64 {
	d := 0.0
	for k, w := range want {
		if g := float64(got[k]); g != w {
			d = max(d, math.Abs(g-w)/max(1, math.Abs(w)))
		}
	}
	return d
}
