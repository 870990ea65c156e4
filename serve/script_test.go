package serve

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAskTwice shows attention while a problem is being solved: neither ends the other.
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
	if got := b.text(`document.querySelector("#attention").innerText.includes("The model reads the right answer here")`); got != "true" {
		t.Error("nothing says whose answer the attention is for")
	}
	b.well(server.URL)
}

// TestOrder keeps a list in its order while values change, and takes out what is gone.
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

// TestGonePage deletes the run of a page: the page says so, and so does Solve, with the lines
// of its message.
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
