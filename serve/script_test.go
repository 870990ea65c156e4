package serve

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAskTwice shows attention while a problem is being solved. Neither request ends the
// other.
func TestAskTwice(t *testing.T) {
	browser := chromium(t)
	c := faked(runsCopy(t))
	begun, finish := make(chan bool, 1), make(chan bool)
	c.Solve = func(ctx context.Context, _, problem string, _ int, _ bool, say func(string)) (*Answer, error) {
		say("Solving …")
		begun <- true
		select {
		case <-finish:
			right := false
			return &Answer{Problem: problem, Answer: "570", Expected: "579", Right: &right}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	server := served(t, c)
	b := open(t, browser, server.URL+"/run?run=successor", 1280, 800, "light")
	b.do(chromedp.Click(`button[data-into="answer"]`))
	<-begun
	b.do(chromedp.Click(`button[data-into="attention"]`))
	b.until(`document.querySelector("#attention .saying")`)
	close(finish)
	b.until(`document.querySelector("#answer .verdict.wrong")`)
	b.until(`document.querySelectorAll("#attention svg.heat").length === 2`)
	if got := b.text(`document.querySelector("#attention").innerText.includes("The model answers <13>; the right answer is 13.")`); got != "true" {
		t.Error("nothing says whose answer the attention is for")
	}
	b.well(server.URL)
}

// TestOrder keeps the order of a list while values change, and removes deleted runs.
func TestOrder(t *testing.T) {
	browser := chromium(t)
	dir := t.TempDir()
	for name, loss := range map[string]float64{"a": 1, "b": 2, "c": 3} {
		put(t, dir, name+"/run.json", ofSteps)
		put(t, dir, name+"/metrics.jsonl", reported(10, loss))
	}
	server := served(t, faked(dir))
	b := open(t, browser, server.URL+"/?sort=loss", 1280, 800, "light")
	const order = `[...document.querySelectorAll("#runs tbody a")].map(a => a.innerText).join(" ")`
	b.until(`document.querySelector("#link.on")`)
	b.until(order + ` === "a b c"`)
	b.do(chromedp.Focus(`input[value="c"]`))
	add(t, filepath.Join(dir, "a", "metrics.jsonl"), reported(20, 2.5))
	b.until(order + ` === "b a c"`)
	if got := b.text(`document.activeElement.value`); got != "c" {
		t.Errorf("the focus is at %s after the rows have changed places", got)
	}
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	b.until(order + ` === "a c"`)
	b.until(`document.querySelector("#counts").innerText.includes("2 stopped")`)
	b.well(server.URL)
}

// TestGonePage deletes the run of an open page. The page shows that, and so does Solve,
// with all lines of the message.
func TestGonePage(t *testing.T) {
	browser := chromium(t)
	dir := runsCopy(t)
	c := faked(dir)
	c.Solve = func(context.Context, string, string, int, bool, func(string)) (*Answer, error) {
		return nil, severalLines("one\ntwo\nthree")
	}
	server := served(t, c)
	b := open(t, browser, server.URL+"/run?run=successor", 390, 844, "dark")
	b.until(`document.querySelector("#link.on")`)
	b.do(chromedp.Click(`button[data-into="answer"]`))
	b.until(`document.querySelector("#answer .wrong-text")?.innerText === "one\ntwo\nthree"`)
	if err := os.RemoveAll(filepath.Join(dir, "successor")); err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelector("#status .state.gone")`)
	b.until(`document.querySelector("#link").innerText === "gone"`)
	b.do(chromedp.Click(`button[data-into="answer"]`))
	b.until(`document.querySelector("#answer").innerText.startsWith("This run is gone: there is no run successor")`)
	b.well(server.URL)
}

// sweepRuns makes runs with names and settings as long as in sweeps.
func sweepRuns(t *testing.T, settings int) string {
	t.Helper()
	dir := t.TempDir()
	for i, position := range []string{"abacus(max_offset = 16, table = 128)", "learned(max = 64)", "none"} {
		name := "addition-embeddings-and-optimizers/20261127-10112" + string(rune('0'+i)) + "-4648391a13997784"
		spec := plainSpec + "train {\n  optimizer = adamw(lr = 0.00" + string(rune('1'+i)) + ", betas = [0.9, 0.98], decay = 0.0" + string(rune('1'+i)) + ")\n}\n"
		if settings > 2 {
			spec += "embed {\n  position = " + position + "\n}\n"
		}
		put(t, dir, name+"/run.json", ofSteps)
		put(t, dir, name+"/spec.arith", spec)
		put(t, dir, name+"/metrics.jsonl", reported(10, 2.123456)+reported(100, 7.594e-9))
		put(t, dir, name+"/eval/result.json", byGrid)
	}
	return dir
}

// overprinted lists the cells of a page whose texts overlap or reach beyond the window.
const overprinted = `(() => {
  const boxes = [], bad = []
  const walk = document.createTreeWalker(document.querySelector("#runs"), NodeFilter.SHOW_TEXT)
  for (let node; node = walk.nextNode();) {
    if (!node.data.trim() || node.parentElement.closest(".unseen")) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const r of range.getClientRects()) boxes.push([r, node.data])
  }
  for (const [i, [a, x]] of boxes.entries()) {
    if (a.right > document.documentElement.clientWidth || a.left < 0) bad.push(x + " runs off")
    for (const [b, y] of boxes.slice(i + 1)) {
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5) bad.push(x + " on " + y)
    }
  }
  return bad.join("; ")
})()`

// TestListFits wants every column visible on a desktop and on a phone, and no overlapping
// texts.
func TestListFits(t *testing.T) {
	browser := chromium(t)
	for _, settings := range []int{2, 4} {
		server := served(t, faked(sweepRuns(t, settings)))
		for _, width := range []int64{1280, 390} {
			b := open(t, browser, server.URL, width, 844, "light")
			if got := b.text(overprinted); got != "" {
				t.Errorf("%d pixels, %d settings: %s", width, settings, got)
			}
			if width > 1000 {
				const bottoms = `[...document.querySelectorAll("#runs tbody tr")].map(row => ["loss b", "number:not(.loss)"].map(of => { const range = document.createRange(); range.selectNodeContents(row.querySelector("." + of)); return range.getBoundingClientRect().bottom })).filter(([a, b]) => Math.abs(a - b) > 0.6).join("; ")`
				if got := b.text(bottoms); got != "" {
					t.Errorf("the loss is not on the line of its row: %s", got)
				}
			}
			b.well(server.URL)
		}
	}
}
