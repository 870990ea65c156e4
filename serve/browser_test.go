package serve

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/runtime/lock"
)

// A tab is a tab of a browser. It records errors in the page and the requested addresses.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	wrong []string
	asked []string
}

// chromium starts a browser. It skips the test if no browser is installed.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := full.Needs(t, full.Chromium)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-background-networking", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return ctx
}

// open opens an address in a new tab.
func open(t *testing.T, browser context.Context, address string, width, height int64, scheme string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 30*time.Second)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.hear)
	b.do(
		network.Enable(), log.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(width, height, 1, width < 500),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
		chromedp.Navigate(withToken(address)),
	)
	b.entered()
	return b
}

// entered waits until the page without the token in its address has loaded.
func (b *tab) entered() {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var there bool // an error means that the page is changing
		if chromedp.Run(b.ctx, chromedp.Evaluate(`!location.search.includes("token=") && document.readyState === "complete"`, &there)) == nil && there {
			return
		}
	}
	b.t.Fatal("the address keeps its token")
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, fmt.Sprint(e.Type, e.Args))
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// text evaluates an expression in the page.
func (b *tab) text(expression string) string {
	b.t.Helper()
	var out any
	b.do(chromedp.Evaluate(expression, &out))
	return fmt.Sprint(out)
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if b.text("Boolean("+expression+")") == "true" {
			return
		}
	}
	b.t.Fatalf("in ten seconds, this did not become true: %s; the page says %.2000s", expression, b.text("document.body.innerText"))
}

// well wants no errors, requests only to addresses that begin with ours, and no page wider
// than its window.
func (b *tab) well(ours string) {
	b.t.Helper()
	if got := b.text("document.documentElement.scrollWidth - document.documentElement.clientWidth"); got != "0" {
		b.t.Errorf("the page is %s pixels wider than its window: %s", got, b.text(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth && !e.parentElement.closest(".scroll, pre, .code")).slice(0, 5).map(e => e.outerHTML.slice(0, 120)).join("\n")`))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.t.Errorf("the console says: %s", w)
	}
	for _, address := range b.asked {
		if !strings.HasPrefix(address, ours) {
			b.t.Errorf("the page asked %s", address)
		}
	}
	if len(b.asked) == 0 {
		b.t.Error("nothing was asked: this test sees no requests")
	}
}

// shots lists the pages in docs/screenshots.
var shots = []struct{ name, path, problem string }{
	{"runs", "/", ""},
	{"run", "/run?run=embeddings/abacus-2", "123+456"},
	{"live", "/run?run=embeddings/fire-1", ""},
	{"wrong", "/run?run=embeddings/nope-1", "12+34"},
	{"compare", "/compare?run=embeddings/abacus-2&run=embeddings/nope-1", ""},
}

// shownRuns returns a copy of the runs in testdata, and some runs in other states.
func shownRuns(t *testing.T) string {
	dir := runsCopy(t)
	put(t, dir, "embeddings/fire-1/run.json", `{"name":"embeddings-fire-seed-1","seed":1,"budget":{"steps":6000},"started":"2026-11-25T11:50:00Z"}`)
	spec, err := os.ReadFile("testdata/runs/embeddings/nope-1/spec.arith")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "embeddings/fire-1/spec.arith", strings.Replace(string(spec), "bias     = none", "bias     = fire", 1))
	for step := 60; step < 1500; step += 60 {
		if step == 60 {
			put(t, dir, "embeddings/fire-1/metrics.jsonl", reported(step, 2.5))
			continue
		}
		add(t, filepath.Join(dir, "embeddings/fire-1/metrics.jsonl"), reported(step, 2.5-float64(step)/1000))
	}
	put(t, dir, "copied/run.json", `{"name":"copi`)
	held, err := lock.Try(filepath.Join(dir, "embeddings/fire-1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.Close)
	return dir
}

// TestPages renders every page at the widths of a phone and a desktop, light and dark.
func TestPages(t *testing.T) {
	browser := chromium(t)
	docs, err := filepath.Abs("../docs/screenshots")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := os.ReadFile("testdata/shorter.arith")
	if err != nil {
		t.Fatal(err)
	}
	dir := shownRuns(t)
	t.Chdir(filepath.Dir(dir)) // so that the pages show the path runs
	c := faked(dir)
	c.Shorter = func(context.Context, string) (string, error) { return string(spec), nil }
	server := served(t, c)
	for _, size := range []struct {
		name   string
		width  int64
		height int64
	}{{"desk", 1280, 800}, {"phone", 390, 844}} {
		for _, scheme := range []string{"light", "dark"} {
			for _, s := range shots {
				name := strings.Join([]string{s.name, size.name, scheme}, "-")
				t.Run(name, func(t *testing.T) {
					b := open(t, browser, server.URL+s.path, size.width, size.height, scheme)
					if s.problem != "" {
						b.do(chromedp.SetValue("input[name=problem]", s.problem), chromedp.Click(`button[data-into="answer"]`))
						b.until(`document.querySelector(".thinking")`)
						if want := map[string]string{"run": "right", "wrong": "wrong"}[s.name]; b.text(`document.querySelector(".verdict").innerText`) != want {
							t.Errorf("the verdict is not %s", want)
						}
					}
					if s.name == "live" && b.text(`document.querySelector("progress")?.value`) != "0.24" {
						t.Error("nothing shows how far the training is")
					}
					if s.name != "compare" {
						b.until(`document.querySelector("#link.on")`)
					}
					b.until(`!document.querySelector(".saying")`)
					b.well(server.URL)
					if golden.Updating() {
						b.shoot(filepath.Join(docs, name+".png"), size.width)
					}
				})
			}
		}
	}
}

// shoot saves a picture of the top of a page.
func (b *tab) shoot(path string, width int64) {
	var picture []byte
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		_, _, _, _, _, size, err := cdpage.GetLayoutMetrics().Do(ctx)
		if err != nil {
			return err
		}
		most := 1900.0
		if width < 500 {
			most = 1700
		}
		picture, err = cdpage.CaptureScreenshot().WithCaptureBeyondViewport(true).
			WithClip(&cdpage.Viewport{Width: float64(width), Height: min(size.Height, most), Scale: 1}).Do(ctx)
		return err
	}))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// TestKeyboard uses every function with the keyboard.
func TestKeyboard(t *testing.T) {
	browser := chromium(t)
	server := served(t, faked(runsCopy(t)))
	b := open(t, browser, server.URL, 1280, 800, "light")
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := b.text(`document.activeElement.className + getComputedStyle(document.activeElement).top`); got != "skip0px" {
		t.Errorf("the first tab stop is %s, want the link that skips to the content, in sight", got)
	}
	focus := func(selector string) {
		t.Helper()
		for range 60 {
			if b.text(fmt.Sprintf("document.activeElement.matches(%q)", selector)) == "true" {
				if b.text(`getComputedStyle(document.activeElement).outlineStyle`) == "none" {
					t.Errorf("it cannot be seen that %s has the focus", selector)
				}
				return
			}
			b.do(chromedp.KeyEvent(kb.Tab))
		}
		t.Fatalf("no tab stop is %s", selector)
	}
	first := `document.querySelector("#runs tbody tr").innerText`
	focus(`button[value="ood"]`)
	b.do(chromedp.KeyEvent(kb.Enter))
	if got := b.text(first); !strings.Contains(got, "successor") || b.text(`document.querySelector('th[aria-sort]').getAttribute("aria-sort")`) != "descending" {
		t.Errorf("sorted by longer lengths, the first run is %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	if got := b.text(first); !strings.Contains(got, "nope-1") {
		t.Errorf("sorted the other way, the first run is %q", got)
	}
	focus(`input[type=checkbox][value="embeddings/nope-1"]`)
	b.do(chromedp.KeyEvent(" "))
	focus(`input[type=checkbox][value="embeddings/abacus-2"]`)
	b.do(chromedp.KeyEvent(" "), chromedp.Focus("#filter"), chromedp.KeyEvent("abacus position"))
	b.until(`document.querySelector("#matches").textContent === "3 of 5 runs"`)
	focus("#compare")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname === "/compare" && document.querySelectorAll("svg.heat").length === 3`)

	b = open(t, browser, server.URL+"/run?run=embeddings/abacus-2", 1280, 800, "light")
	focus("svg.heat")
	for range 3 {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	if got := b.text(`document.querySelector("#tip").innerText`); !strings.HasPrefix(got, "2 × 4\n50 of 50 right") {
		t.Errorf("the grid says %q of its second row and fourth column", got)
	}
	focus("input[name=problem]")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector(".answer")?.innerText.includes("579")`)
	b.well(server.URL)
}

// TestLive waits for changes to appear without a reload.
func TestLive(t *testing.T) {
	browser := chromium(t)
	dir := runsCopy(t)
	put(t, dir, "now/run.json", `{"name":"now","seed":1,"budget":{"steps":100}}`)
	metrics := filepath.Join(dir, "now", "metrics.jsonl")
	put(t, dir, "now/metrics.jsonl", reported(10, 2))
	server := served(t, faked(dir))
	list := open(t, browser, server.URL, 1280, 800, "light")
	one := open(t, browser, server.URL+"/run?run=now", 1280, 800, "dark")
	one.until(`document.querySelector("#link.on")`)
	list.do(cdpage.BringToFront()) // the other tab is hidden now, and does not listen
	list.until(`document.querySelector("#link.on")`)
	list.do(chromedp.Click(`input[value="now"]`))
	add(t, metrics, reported(20, 1.25))
	put(t, dir, "later/run.json", `{"name":"later","seed":2,"budget":{"steps":100}}`)
	list.until(`document.querySelector('input[value="now"]').closest("tr").innerText.includes("1.25")`)
	list.until(`document.querySelector('input[value="later"]')`)
	one.do(cdpage.BringToFront())
	one.until(`document.querySelector("#facts").innerText.includes("1.25") && document.querySelector("#curves svg")`)
	if got := list.text(`document.querySelector("#runs tbody tr:last-child a").innerText`); got != "later" {
		t.Errorf("the list is ordered by when runs were started, and its last is %s, not the one that does not say", got)
	}
	if list.text(`document.querySelector('input[value="now"]').checked`) != "true" {
		t.Error("a run that is chosen is not any more after it has changed")
	}
	list.well(server.URL)
	one.well(server.URL)
}

// TestHostile opens pages of runs whose texts contain scripts.
func TestHostile(t *testing.T) {
	browser := chromium(t)
	dir := runsCopy(t)
	name := hostileRun(t, dir)
	server := served(t, faked(dir))
	for _, path := range []string{"/", "/run?run=" + queryEscape(name), "/compare?run=successor&run=" + queryEscape(name)} {
		b := open(t, browser, server.URL+path, 390, 844, "light")
		b.until(`document.readyState === "complete"`)
		if got := b.text("window.hacked"); got != "<nil>" {
			t.Errorf("%s runs what is in a run: %s", path, got)
		}
		if !strings.Contains(b.text("document.body.innerText"), "<script>") {
			t.Errorf("%s does not show the run", path)
		}
		b.well(server.URL)
	}
}

// TestReportPage opens a report from the disk.
func TestReportPage(t *testing.T) {
	browser := chromium(t)
	dir := runsCopy(t)
	runs := []string{filepath.Join(dir, "embeddings/abacus-2"), filepath.Join(dir, "embeddings/nope-1"), filepath.Join(dir, hostileRun(t, dir))}
	text, err := Report(context.Background(), faked(dir), runs)
	if err != nil {
		t.Fatal(err)
	}
	const namespace = "http://www.w3.org/2000/svg" // a name, never requested
	if rest := bytes.ReplaceAll(text, []byte(namespace), nil); bytes.Contains(rest, []byte("://")) || bytes.Contains(rest, []byte("<link")) {
		t.Error("the report refers to something outside")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1280, 390} {
		b := open(t, browser, "file://"+file, width, 800, "dark")
		b.until(`document.readyState === "complete"`)
		b.well("file://" + file)
		if b.text("window.hacked") != "<nil>" {
			t.Error("the report runs what is in a run")
		}
		b.do(chromedp.Focus("svg.heat"), chromedp.KeyEvent(kb.ArrowRight))
		b.until(`document.querySelector("#tip")?.innerText.includes("of 50 right")`)
	}
	b := open(t, browser, "file://"+file, 1280, 800, "light")
	b.do(emulation.SetScriptExecutionDisabled(true), chromedp.Reload())
	if got := b.text(`[...document.querySelectorAll("svg.chart")].filter(e => e.getBoundingClientRect().height > 80).length > 8`); got != "true" {
		t.Error("without its script the report has no pictures")
	}
}
