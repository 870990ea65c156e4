package lsp

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl/diag"
)

// prefix precedes the text of a test. In a text "‸" marks the point that the test is about.
const prefix = "arith 2\n\ntask successor {}\n"

// at returns the view of a text and the offset of the mark in it.
func at(t *testing.T, marked string) (*view, int) {
	t.Helper()
	before, after, ok := strings.Cut(marked, "‸")
	if !ok {
		t.Fatalf("no mark in %q", marked)
	}
	base := map[string]string{"base.arith": "arith 2\n\nmodel { width = 32 }\n\nbias far { value = -1 * abs(i - j) }\n"}
	return newView("spec.arith", before+after, func(path string) ([]byte, error) {
		if text, ok := base[path]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}, nil), len(before)
}

// TestComplete lists texts that must be proposed and, after "-", texts that must not.
func TestComplete(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"the file":               {prefix + "‸", "task model attention train eval include bias mask sweep stage calibrate -width -layers"},
		"half a block":           {prefix + "mod‸", "model"},
		"a block":                {prefix + "model {\n  ‸\n}", "width heads encoder decoder embed -batch -model"},
		"seeds and lanes":        {prefix + "train {\n  ‸\n}", "seed init_seed lanes -heads"},
		"an inner block":         {prefix + "model {\n  embed {\n    ‸", "position token -width"},
		"a dotted path":          {prefix + "model.decoder.‸", "layers self cross -width"},
		"half a dotted path":     {prefix + "model {\n  decoder.se‸\n", "self layers -width"},
		"below half an entry":    {prefix + "model {\n  wid\n  ‸\n}", "width heads"},
		"behind a value":         {prefix + "model {\n  width = 8\n  ‸\n}", "heads"},
		"behind a call":          {prefix + "model {\n  ffn = relu(hidden = 8)\n  ‸\n}", "heads"},
		"behind an open bracket": {prefix + "model {\n  ffn = relu(hidden = \n}\ntrain {\n ‸", "batch -heads"},
		"before a missing value": {prefix + "model {\n  width =\n  heads = 4\n  ‸\n}", "ffn"},
		"the body of an include": {prefix + "include \"base.arith\" {\n  ‸", "model train"},
		"a kind":                 {"arith 2\ntask ‸", "successor addition -operands"},
		"half a kind":            {"arith 2\ntask suc‸ {}", "successor"},
		"attributes of a kind":   {"arith 2\ntask successor {\n‸", "operands order -interleave -path"},
		"other attributes":       {"arith 2\ntask addition {\n‸", "operands interleave -path"},
		"a choice":               {prefix + "model { embed { position = ‸", "none learned sinusoidal cyclic -relu"},
		"half a choice":          {prefix + "model.ffn = re‸", "relu gelu"},
		"arguments":              {prefix + "model.ffn = relu(‸", "hidden -eps"},
		"second argument":        {prefix + "model.norm = layernorm(eps = 1e-5, ‸)", "eps place"},
		"value of an argument":   {prefix + "model.norm = layernorm(place = ‸)", "pre post -eps"},
		"argument by place":      {prefix + "model.embed.position = cyclic(‸", "sinusoidal learned period"},
		"a projection":           {prefix + "model.decoder.self.k = ‸", "none scalar own -true"},
		"a boolean":              {prefix + "model.bias = ‸", "true false"},
		"a word":                 {prefix + "train.microbatch = ‸", "auto"},
		"units of time":          {prefix + "train.budget = 30‸", "30m 30steps 30examples"},
		"half a unit":            {prefix + "train.budget = 30st‸", "30steps -30stm"},
		"units of a number":      {prefix + "model.width = 1‸", "1k 1Mi -1steps"},
		"the operands":           {"arith 2\ntask addition {\n  operands = ‸\n}", "below digits -1"},
		"operands of a kind":     {"arith 2\ntask sum {\n  operands = ‸\n}", "digits -below"},
		"arguments of below":     {"arith 2\ntask copy {\n  operands = below(1k, ‸)\n}", "epochs -sampling -range"},
		"a calibration":          {prefix + "calibrate lines {\n  ‸\n}", "from samples self cross -train -rounds"},
		"part of a calibration":  {prefix + "calibrate lines {\n  self {\n    ‸", "rows keep -from"},
		"a result":               {prefix + "stage first {}\ncalibrate lines { from = first }\nmodel.decoder.self.bias = ‸", "lines -first"},
		"units of a share":       {prefix + "model.dropout = 10‸", "10% -10k"},
		"a mask":                 {prefix + "model.decoder.self.mask = ‸", "i j causal window abs -kerple"},
		"inside a mask":          {prefix + "model { decoder { self { mask = 0 <= i - ‸ } } }", "i j J"},
		"a bias":                 {prefix + "bias mine { value = 1 }\nmodel.decoder.self.bias = ‸", "none mine kerple alibi i where -given"},
		"a bias of an include":   {prefix + "include \"base.arith\"\nmodel.decoder.self.bias = ‸", "far"},
		"arguments of a bias":    {prefix + "model.decoder.self.bias = fire(‸)", "hidden threshold"},
		"inside a bias block":    {prefix + "bias mine {\n  slope = learned([H])\n  value = slope[h] * ‸\n}", "slope i j abs -value"},
		"names of a bias block":  {prefix + "bias mine {\n  ‸\n}", "value -width"},
		"a sweep":                {prefix + "sweep {\n  ‸\n}", "model train"},
		"a sweep by path":        {prefix + "sweep {\n  train.‸\n}", "seed batch"},
		"values of a sweep":      {prefix + "sweep {\n  model.embed.position = [none, ‸]\n}", "sinusoidal"},
		"a stage":                {prefix + "stage first {\n  ‸\n}", "from model train"},
		"the start of a stage":   {prefix + "stage first {}\nstage second {\n  from = ‸\n}", "first none"},
		"arguments by path":      {prefix + "train.optimizer.‸", "lr eps decay -batch"},
		"of a parameter by path": {prefix + "bias.kerple.r1.‸", "init min -value"},
		"an argument by path":    {prefix + "model.embed.position.inner = ‸", "sinusoidal learned"},
		"attention alone":        {"arith 2\n\nattention {\n  ‸\n}", "heads key_heads width scale mask bias -rotary"},
		"its mask":               {"arith 2\n\nattention { mask = ‸ }", "h i j H I J causal window -pi -dj -kerple"},
		"its bias":               {"arith 2\n\nattention {\n  bias = mine + ‸i\n}\nbias mine { value = 1 }", "mine kerple i where learned -pi -n"},
		"a bias of its own":      {"arith 2\n\nattention {}\nbias mine { value = abs(i - ‸j) }", "h i j -pi -dj"},
		"its whole bias":         {"arith 2\n\nattention {\n  bias = ‸\n}", "none given kerple i"},
		"its keys":               {"arith 2\n\nattention { key_heads = ‸ }", "auto"},
		"a comment":              {prefix + "// mo‸", "-model"},
		"a text":                 {prefix + "include \"‸\"", "-model"},
	} {
		t.Run(name, func(t *testing.T) {
			v, offset := at(t, c.text)
			proposals, r := v.complete(offset)
			var labels []string
			for _, p := range proposals {
				if slices.Contains(labels, p.label) {
					t.Errorf("%s is proposed twice", p.label)
				}
				labels = append(labels, p.label)
			}
			for _, w := range strings.Fields(c.want) {
				if not, no := strings.CutPrefix(w, "-"); no == slices.Contains(labels, not) {
					t.Errorf("%s: proposed are %v", w, labels)
				}
			}
			if end := v.pos(v.path, offset); r.End != end || r.Start.Line != end.Line || r.Start.Col > end.Col {
				t.Errorf("replaces %v at %v", r, end)
			}
		})
	}
}

// TestHover lists texts that an explanation must contain.
func TestHover(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a block":            {prefix + "mod‸el {}", []string{"**model**", "the model to train"}},
		"a kind":             {"arith 2\ntask succ‸essor {}", []string{"n + 1"}},
		"an attribute":       {prefix + "train {\n  ba‸tch = 64k\n}", []string{"examples per step", "default: 128", "whole number", "2^20", "units: k, M", "here: `64k`"}},
		"a path":             {prefix + "model.decoder.lay‸ers = 3", []string{"**model.decoder.layers**", "here: `3`"}},
		"a share":            {prefix + "model.dro‸pout = 10%", []string{"units: %", "between 0% and 99%"}},
		"what is overridden": {prefix + "include \"base.arith\" { model.wi‸dth = 64 }\nmodel.width = 96", []string{"overrides"}},
		"a choice":           {prefix + "model.embed.position = cyc‸lic(period = 3)", []string{"modulo a period", "`period`"}},
		"an argument":        {prefix + "train.optimizer = adam(l‸r = 1e-3)", []string{"**adam(lr)**", "peak learning rate", "default: 1e-3"}},
		"its path":           {prefix + "train.optimizer.l‸r = 0.5", []string{"**train.optimizer.lr**", "peak learning rate", "default: 1e-3", "here: `0.5`"}},
		"an inner choice":    {prefix + "model.norm = layernorm(place = po‸st)", []string{"after the residual"}},
		"a variable":         {prefix + "model.decoder.self.mask = j <= ‸i", []string{"**i**", "query"}},
		"a function":         {prefix + "model.decoder.self.mask = a‸bs(i - j) <= 1", []string{"**abs("}},
		"a bias":             {prefix + "bias mine { value = 7 }\nmodel.decoder.self.bias = mi‸ne", []string{"bias mine", "value = 7"}},
		"of the prelude":     {prefix + "model.decoder.self.bias = ali‸bi()", []string{"bias alibi", "```arith"}},
		"its argument":       {prefix + "model.decoder.self.bias = fire(hid‸den = 8)", []string{"**fire(hidden)**", "default: "}},
		"attention alone":    {"arith 2\n\natten‸tion {}", []string{"**attention**", "mlc attention"}},
		"its heads":          {"arith 2\n\nattention { key_he‸ads = 4 }", []string{"**attention.key_heads**", "default: auto", "here: `4`"}},
		"the word given":     {"arith 2\n\nattention { bi‸as = given }", []string{"**attention.bias**", "[H, T, S]", "here: `given`"}},
		"its bias":           {"arith 2\n\nattention { bias = fi‸re }", []string{"bias fire", "```arith"}},
		"nothing":            {prefix + "‸", nil},
		"an operator":        {prefix + "model.width ‸= 8", nil},
		"a comment":          {prefix + "// mod‸el", nil},
		"an unknown name":    {prefix + "mod‸le {}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, offset := at(t, c.text)
			got, r := v.hover(offset)
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q is not in:\n%s", w, got)
				}
			}
			if len(c.want) == 0 && got != "" {
				t.Errorf("says:\n%s", got)
			}
			if p := v.pos(v.path, offset); got != "" && (r.Start.Line != p.Line || r.Start.Col > p.Col || r.End.Col < p.Col) {
				t.Errorf("%v is not at %v", r, p)
			}
		})
	}
}

// TestDefine wants the text at the place of a definition.
func TestDefine(t *testing.T) {
	for name, c := range map[string]struct {
		text, file, want string
		line             int
	}{
		"a bias":          {prefix + "bias mine { value = 1 }\nmodel.decoder.self.bias = mi‸ne", "spec.arith", "mine", 4},
		"used twice":      {prefix + "bias mine { value = 1 }\nmodel.decoder.self.bias = 2 * mi‸ne + mine", "spec.arith", "mine", 4},
		"before it":       {prefix + "model.decoder.self.bias = mine‸\nbias mine { value = 1 }", "spec.arith", "mine", 5},
		"a local":         {prefix + "bias mine {\n  a = 1\n  value = 2 * ‸a\n}", "spec.arith", "a", 5},
		"of an include":   {prefix + "include \"base.arith\"\nmodel.decoder.self.bias = fa‸r", "base.arith", "", 5},
		"an include":      {prefix + "include \"ba‸se.arith\"", "base.arith", "", 1},
		"a mask":          {prefix + "mask near { value = i - j <= 1 }\nmodel.decoder.self.mask = ne‸ar", "spec.arith", "near", 4},
		"a stage":         {prefix + "stage first {}\nstage second { from = fir‸st }", "spec.arith", "first", 4},
		"no definition":   {prefix + "model.width = ‸8", "", "", 0},
		"nothing at all":  {prefix + "‸", "", "", 0},
		"a broken file":   {prefix + "bias mine { value = 1 }\nmodel.decoder.self.bias = mi‸ne\nmodel { width }", "spec.arith", "mine", 4},
		"an unknown name": {prefix + "model.decoder.self.bias = mi‸ne", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			v, offset := at(t, c.text)
			r, ok := v.define(offset)
			if ok != (c.file != "") || r.Start.File != c.file || r.Start.Line != c.line {
				t.Fatalf("found %v at %v, want %s:%d", ok, r, c.file, c.line)
			}
			if c.file == "spec.arith" && v.line(c.line - 1)[r.Start.Col-1:r.End.Col-1] != c.want {
				t.Errorf("found %v", r)
			}
		})
	}
}

// TestBroken keeps the definitions of a text while a bracket is open.
func TestBroken(t *testing.T) {
	good, _ := at(t, prefix+"bias mine { value = 1 }\n‸")
	broken := newView("spec.arith", good.text+"model {", nil, good)
	if broken.definition("mine") == nil || len(broken.findings()) != 1 {
		t.Errorf("the definitions are %v", broken.doc.Definitions)
	}
	if mended := newView("spec.arith", "arith 2\n", nil, broken); mended.definition("mine") != nil {
		t.Error("what is gone is still there")
	}
	alone, _ := at(t, "arith 2\n\nattention {}\n‸")
	if broken := newView("spec.arith", "arith 2\n\nattention {\n  mask = (i", nil, alone); !alone.doc.Alone || !broken.doc.Alone {
		t.Errorf("attention is alone: %v, and while a bracket is open: %v", alone.doc.Alone, broken.doc.Alone)
	}
}

// TestFindings wants each diagnostic at a place in the file itself.
func TestFindings(t *testing.T) {
	v, _ := at(t, prefix+"include \"base.arith\"\ninclude \"lost.arith\"‸\n")
	broken := newView("spec.arith", prefix+"\ninclude \"a.arith\"\n", func(string) ([]byte, error) { return []byte("arith 2\n\nmodle {}\n"), nil }, nil)
	for _, c := range []struct {
		v    *view
		code string
		line int
	}{{v, "E0107", 5}, {broken, "E0201", 5}} {
		all := c.v.findings()
		if len(all) != 1 || all[0].Code != c.code || all[0].at.Start != (diag.Pos{File: "spec.arith", Line: c.line, Col: 9}) {
			for _, f := range all {
				t.Logf("%s at %v: %s", f.Code, f.at, f.Message)
			}
			t.Errorf("want one %s in line %d", c.code, c.line)
		}
	}
}

// TestPositions converts between bytes and UTF-16 units and back.
func TestPositions(t *testing.T) {
	s := newSource("aü𝔸b\r\n\nlast")
	for offset, want := range map[int][2]uint32{0: {0, 0}, 1: {0, 1}, 3: {0, 2}, 7: {0, 4}, 8: {0, 5}, 10: {1, 0}, 11: {2, 0}, 15: {2, 4}} {
		p := s.position(s.pos("f", offset))
		if p.Line != want[0] || p.Character != want[1] {
			t.Errorf("%d is at %v, want %v", offset, p, want)
		}
		if got := s.offset(p); got != offset {
			t.Errorf("%v is at %d, want %d", p, got, offset)
		}
	}
}

// FuzzView calls every feature at every point of any text.
func FuzzView(f *testing.F) {
	f.Add(prefix + "model { ffn = relu(hidden = 8) }\nbias b { a = learned([H]) value = a[h] * sum(m = 0..3, m) }")
	f.Add("arith 2\nsweep { a b { model.width = [8, } } \"x")
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 300)] // each point takes as long as the text
		v := newView("spec.arith", text, func(string) ([]byte, error) { return nil, fs.ErrNotExist }, nil)
		for offset := range len(text) + 1 {
			v.complete(offset)
			v.hover(offset)
			v.define(offset)
		}
		v.findings()
	})
}
