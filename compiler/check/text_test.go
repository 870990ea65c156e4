package check

import (
	"strings"
	"testing"
)

// TestTextFiles wants each fault of a text at its place, with what to do.
func TestTextFiles(t *testing.T) {
	const head = "arith 2\n\ntask text {\n  path = \"a.txt\"\n  length = 4\n"
	const model = "}\n\nmodel.decoder_only.layers = 1\n"
	long := strings.Repeat("abcde", 20)
	many := ""
	for r := rune(0x4e00); r < 0x4e00+maxSymbols+1; r++ {
		many += string(r)
	}
	for _, c := range []struct {
		name, spec, file string
		want             string // "" for a spec without findings
	}{
		{"good", head + model, long, ""},
		{"Windows", head + model, "\ufeff" + strings.Repeat("ab\r\n", 20), ""},
		{"empty", head + model, "", `a.arith:4:10: error[E0321]: a.txt: the file is empty`},
		{"bytes", head + model, "abc\nde\xff\xfe\n" + long, `a.arith:4:10: error[E0321]: a.txt:2: the line is no UTF-8 text`},
		{"many", head + model, many, "E0321]: a.txt: the text has 1025 different characters, more than 1024"},
		{"short", head + "  holdout = 0%\n" + model, "abcd", "a.arith:5:12: error[E0321]: a.txt: training has 4 characters of the text, and a window of length 4 needs 5"},
		{"tail", head + "  holdout = 4%\n" + model, long, "4 characters of the text are held out, and a window of length 4 needs 5"},
		{"range", strings.Replace(head, "= 4", "= 1..4", 1) + model, long, "a.arith:5:12: error[E0206]: task.length takes one number for a text, not 1..4"},
		{"words", head + "  tokens = words\n" + model, long, "E0321]: the tokens of a text are its characters"},
		{"missing", strings.Replace(head, "a.txt", "b.txt", 1) + model, long, "a.arith:4:10: error[E0107]: cannot read b.txt"},
		{"no path", "arith 2\n\ntask text {\n" + model, long, "E0308]: task text needs path"},
		{"encoder", head + "}\n", long, "E0401]: task text"},
		{"digits", head + model + "\neval.digits = [5]\n", long, "E0214]: eval.digits does not belong to task text"},
		{"every", head + model + "\neval.during = tests(every = 5steps)\n", long, "E0214]: eval.during does not belong to task text"},
		{"best", head + model + "\ntrain.keep = best()\n", long, "E0333]: train.keep = best compares tests of answers, which a text does not have"},
		{"accuracy", head + model + "\ntrain.stop = accuracy()\n", long, "E0333]: train.stop = accuracy compares tests of answers"},
		{"lanes", head + model + "\ntrain.lanes = 8\nmodel.width = 8\n", long, "E0357]: models of train.lanes = 8 are compared by their answers, which a text does not have"},
		{"prompt", head + model + "\nmodel.decoder_only.times = prompt\n", long, "E0350]: times = prompt, but all windows of a text have the same length"},
		{"positions", head + model + "\nmodel.embed.position = learned(max = 3)\n", long, "E0304]: max = 3 is fewer than the 4 positions"},
	} {
		files := map[string]string{"a.arith": c.spec, "a.txt": c.file}
		spec, list := resolve(files, "a.arith")
		got := withLimits(spec, list)
		if text := textOf(got, files); c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(text, c.want)) {
			t.Errorf("%s: %s\nwant %s", c.name, text, c.want)
		}
	}
}

// TestLongText refuses a text that is too long, before it is read in full.
func TestLongText(t *testing.T) {
	if _, f := parseText(make([]byte, MaxFile+1), 4); f == nil || f.what != "the file has more than 64 MiB" {
		t.Errorf("a long text: %v", f)
	}
}

// TestText wants the sizes of a model of text, and a spec that its run reads again.
func TestText(t *testing.T) {
	files := map[string]string{"a.arith": "arith 2\n\ntask text {\n  path = \"a.txt\"\n  length = 4\n}\n\nmodel.decoder_only.layers = 1\n", "a.txt": "b→a\r\n" + strings.Repeat("ab→", 20)}
	s, list := resolve(files, "a.arith")
	if len(list) > 0 {
		t.Fatal(textOf(list, files))
	}
	if n := s.Task.Vocab(); n != 4 || strings.Join(s.Task.File.Symbols, "") != "\nab→" {
		t.Errorf("%d tokens: %q", n, s.Task.File.Symbols)
	}
	if source, target := s.TrainedShape(); source != 0 || target != 4 || s.MeanRows() != 4 {
		t.Errorf("a problem has %d and %d tokens", source, target)
	}
	if first, last := s.Task.Digits(); last >= first {
		t.Errorf("tokens %d to %d are digits", first, last)
	}
	if !s.Task.Sequence || !s.Task.LossOnAll || !s.Task.Padded {
		t.Errorf("the task is %+v", s.Task.Task)
	}
	carried := map[string]string{"run.arith": s.Carried, "spec-files/a.txt": s.Task.File.Text}
	if again, list := resolve(carried, "run.arith"); len(list) > 0 || again.Hash != s.Hash {
		t.Errorf("a run reads its spec as another one: %s", textOf(list, carried))
	}
}
