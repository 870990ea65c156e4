package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWarnings checks the text of warnings. Similar specs have none.
func TestWarnings(t *testing.T) {
	const (
		loop    = "\nmodel.decoder_only { layers = 2 }\neval { digits = [2]  samples = 10 }\n"
		short   = "task copy { operands = digits(6) }\nmodel.decoder_only { layers = 2 }\n"
		inject  = "V009 the input never reaches the model: the loop starts from %s and nothing is injected (use inject = add(before = block), or state = embed)"
		effort  = "V007 evaluation takes about 1.003 times the work of training (use fewer samples or lengths, or a larger budget)"
		ordered = "V011 %s from the first digit, but order = plain begins numbers with another place (use order = reversed, so that equal places get equal positions)"
		unused  = "V017 no attention uses the %s near (write %[1]s = near in an attention block, as model.decoder.self, or remove it)"
		staged  = "task addition { operands = digits(1..3) }\nstage a {}\ncalibrate c { from = a }\n"
	)
	for src, want := range map[string]string{
		"task successor {}\nmodel.encoder { layers = 0  self.dropout = 10% }":                                                          "V004 model.encoder.self.dropout has no effect: the encoder has no layers (set model.encoder.layers = 1, or leave it out)",
		"task successor {}\nmodel.encoder { layers = 1  self.dropout = 10% }":                                                          "",
		"task copy {}" + loop + "train.loss = progressive(backprop = 1)":                                                               "V005 a progressive loss is plain cross entropy where model.decoder_only.times = 1 (use loss = cross_entropy, or more times)",
		"task copy {}" + loop + "model.decoder_only.times = 2\ntrain.loss = progressive(backprop = 2)":                                 "",
		"task copy {}" + loop + "model.decoder_only.times = 2\ntrain.loss = progressive(backprop = 3)":                                 "V005 backprop = 3 is more than model.decoder_only.times = 2 (use backprop = auto, or at most 2)",
		"task copy { operands = digits(1..1)  examples = 9  holdout = 0% }" + loop:                                                     "",
		"task copy { operands = digits(1..1)  examples = 10  holdout = 0% }" + loop:                                                    "V006 examples = 10, but there are only 9 different problems (leave examples out: problems are drawn as they are needed)",
		short + "eval { digits = [6]  samples = 300 }\ntrain { batch = 10  budget = 10steps }":                                         "",
		short + "eval { digits = [6]  samples = 301 }\ntrain { batch = 10  budget = 10steps }":                                         effort,
		short + "eval { digits = [6]  samples = 300 }\ntrain { batch = 10  budget = 100examples }":                                     "",
		short + "eval { digits = [6]  samples = 301 }\ntrain { batch = 10  budget = 100examples }":                                     effort,
		short + "eval { digits = [6]  samples = 301 }\ntrain { batch = 10  budget = 1m }":                                              "",
		"task copy {}" + loop + "stage a {}\nstage b {}":                                                                               "V008 the result of a is never used (let a later stage say from = a)",
		"task copy {}" + loop + "stage a {}\nstage b { from = a }":                                                                     "",
		staged + "stage b { from = a }":                                                                                                "V008 the result of c is never used (use c.self and c.cross as biases of a later stage)",
		staged + "stage b { model.decoder.self.bias = c.self }":                                                                        "",
		"task copy {}" + loop + "model.decoder_only { times = 2  state = normal }":                                                     fmt.Sprintf(inject, "noise"),
		"task copy {}" + loop + "model.decoder_only { times = 2  state = normal(std = 0) }":                                            fmt.Sprintf(inject, "zeros"),
		"task copy {}" + loop + "model.decoder_only { times = 2  state = normal  inject = add(before = block) }":                       "",
		"task copy { operands = digits(1..3)  order = plain }" + loop + "model.embed.position = abacus(max_offset = 3)":                fmt.Sprintf(ordered, "Abacus positions count"),
		"task copy { operands = digits(1..3)  order = reversed }" + loop + "model.embed.position = abacus(max_offset = 3)":             "",
		"task copy { operands = digits(1..3)  order = plain }" + loop + "model.decoder_only.self.mask = j <= i && abs(di - dj) < 9":    fmt.Sprintf(ordered, "di and dj count"),
		"task copy { operands = digits(1..3)  order = reversed }" + loop + "model.decoder_only.self.mask = j <= i && abs(di - dj) < 9": "",
		"task copy { operands = digits(1..3)  order = plain }" + loop + "model.decoder_only.self.mask = j <= i && abs(i - j) < 29":     "",
		"task copy {}" + loop + "bias near { s = learned([H])  value = -s[h] * abs(i - j) }":                                           fmt.Sprintf(unused, "bias"),
		"task copy {}" + loop + "mask near { value = j <= i }":                                                                         fmt.Sprintf(unused, "mask"),
		"task copy {}" + loop + "table near { value = n + c }":                                                                         "V017 no embedding and no output uses the table near (write model.embed.token = learned(value = near), or remove it)",
		"task copy {}" + loop + "model.dropout = 90%\ntrain.optimizer = adam(lr = 0.5)":                                                "V018 model.dropout = 90% is implausible (usual values are 0% to 70%); V018 train.optimizer.lr = 0.5 is implausible (usual values are 1e-6 to 0.1)",
		"task copy {}" + loop + "model { bias = false  init = xavier(biases = uniform) }":                                              "V040 biases = uniform initializes biases, but the model has none (write bias = true, or init = xavier)",
		"task copy {}" + loop + "model { bias = true  init = xavier(biases = uniform) }":                                               "",
		"task copy {}" + loop + "model { bias = false  init = xavier }":                                                                "",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\n" + src + "\n"}, "a.arith")
		var all []string
		for _, d := range list {
			all = append(all, d.Code+" "+d.Message+" ("+d.Help+")")
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// TestSimpleNumbers moves numbers to other bases and lengths of training.
func TestSimpleNumbers(t *testing.T) {
	for _, c := range []struct {
		base, least    int
		decimal, moved string
	}{
		{10, 1, "199", "199"}, {10, 5, "12", "10012"}, {10, 2, "12", "12"}, {10, 2, "7", "17"}, {10, 3, "7", "107"},
		{16, 1, "99", "ff"}, {16, 1, "5", "8"}, {16, 1, "12", "12"}, {16, 1, "72", "d2"}, {16, 1, "4", "4"},
		{2, 1, "90", "10"}, {2, 1, "12", "11"}, {2, 1, "7", "0"}, {2, 1, "72", "1"}, {2, 1, "5", "1"}, {2, 1, "0", "0"}, {3, 1, "2", "2"},
	} {
		s := &Task{}
		s.Base, s.DigitsLo, s.DigitsHi = c.base, c.least, 9
		if got := s.atLeast(s.inBase(c.decimal)); got != c.moved {
			t.Errorf("%s becomes %s in base %d with %d digits or more, want %s", c.decimal, got, c.base, c.least, c.moved)
		}
	}
}

// TestSpread takes the first and the last numbers, and some between.
func TestSpread(t *testing.T) {
	for _, n := range []int{0, 1, biasLines - 1, biasLines} {
		if got := spread(n); !slices.Equal(got, upTo(n)) || len(got) != n {
			t.Errorf("of %d: %v", n, got)
		}
	}
	for _, n := range []int{biasLines + 1, 100, 10_000} {
		got, part := spread(n), biasLines/3
		if len(got) > biasLines || !slices.IsSorted(got) || !slices.Equal(got[:part], upTo(part)) || got[len(got)-part] != n-part || got[len(got)-1] != n-1 {
			t.Errorf("of %d: %v", n, got)
		}
		if n > 2*biasLines {
			if between := got[len(got)/2]; between < n/4 || between > 3*n/4 {
				t.Errorf("the middle of %d is %d", n, between)
			}
		}
	}
}

// TestSomeCells visits all cells of a small shape; of a large one the edges and the diagonal.
func TestSomeCells(t *testing.T) {
	visit := func(rows, keys int) map[[2]int]bool {
		seen := map[[2]int]bool{}
		for i, j := range someCells(rows, keys) {
			if i < 0 || i >= rows || j < 0 || j >= keys {
				t.Fatalf("%d × %d has no cell (%d, %d)", rows, keys, i, j)
			}
			seen[[2]int{i, j}] = true
		}
		return seen
	}
	if got := len(visit(2, 512)); got != 1024 {
		t.Errorf("%d of 1024 cells", got)
	}
	seen := visit(200, 300)
	if len(seen) >= 200*300 {
		t.Error("all cells of a large shape")
	}
	for n := range 300 {
		for _, cell := range [][2]int{{min(n, 199), 0}, {199, n}, {min(n, 199), n}} {
			if !seen[cell] {
				t.Errorf("cell %v is left out", cell)
			}
		}
	}
}
