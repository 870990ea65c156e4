package serve

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
)

// secrets are files outside of the folder that look like the files of a run.
var secrets = map[string]string{
	"run.json":         `{"name":"secret-name","seed":1,"budget":{"steps":100}}`,
	"spec.arith":       "arith 2 // secret-spec\n",
	"metrics.jsonl":    reported(77777, 2),
	"tests.jsonl":      `{"step":77777,"lengths":[{"length":3,"exact_match":0.5}]}` + "\n",
	"eval/result.json": `{"metric":"exact_match","overall":0.77777,"by_cell":[[1,1,77777,5]]}`,
}

// tells reports whether a text contains a secret.
func tells(text string) bool {
	return strings.Contains(text, "secret-") || strings.Contains(text, "77777") || strings.Contains(text, "77,777") || strings.Contains(text, "77.777")
}

// TestLateLinks reads a run after one of its files has become a link out of the folder.
func TestLateLinks(t *testing.T) {
	for name := range secrets {
		t.Run(filepath.Base(name), func(t *testing.T) {
			dir := runsCopy(t)
			outside := filepath.Join(filepath.Dir(dir), "outside")
			put(t, outside, name, secrets[name])
			path := filepath.Join(dir, "successor", filepath.FromSlash(name))
			os.Remove(path)
			if err := os.Symlink(filepath.Join(outside, filepath.FromSlash(name)), path); err != nil {
				t.Skip(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			v := load(damage.Below(root, "successor"), &Config{})
			html, err := v.page()
			if err != nil || tells(string(html)) {
				t.Errorf("the page: %v\n%s", err, html)
			}
			if len(v.Problems) != 1 || !strings.HasPrefix(v.Problems[0], "open "+filepath.FromSlash(name)+": ") {
				t.Errorf("the problems are %q", v.Problems)
			}
			all, err := list.Runs(damage.Below(root, "."))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				if r.Name == "secret-name" || r.Step == 77777 || r.Overall != nil && *r.Overall == 0.77777 {
					t.Errorf("the list has %+v", r)
				}
			}
		})
	}
}

// TestSwapped requests a run while another goroutine keeps replacing its files and its
// directory by links out of the folder.
func TestSwapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what is open cannot be renamed")
	}
	dir := runsCopy(t)
	outside := filepath.Join(filepath.Dir(dir), "outside")
	for name, text := range secrets {
		put(t, outside, name, text)
	}
	run, link, aside := filepath.Join(dir, "successor"), filepath.Join(dir, "..", "link"), filepath.Join(dir, "..", "aside")
	server := served(t, faked(dir))
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			for _, name := range []string{"", "spec.arith", "metrics.jsonl"} {
				path := filepath.Join(run, name)
				os.Symlink(filepath.Join(outside, name), link)
				for _, step := range [][2]string{{path, aside}, {link, path}, {path, link}, {aside, path}} {
					if err := os.Rename(step[0], step[1]); err != nil {
						t.Error(err)
						return
					}
				}
				os.Remove(link)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for range 4 {
		all.Go(func() {
			for start := time.Now(); time.Since(start) < 2*time.Second && !t.Failed(); {
				for _, path := range []string{"/run?run=successor", "/compare?run=successor&run=" + url.QueryEscape("embeddings/nope-1"), "/"} {
					if _, text, _ := got(t, "GET", server.URL+path, nil); tells(text) {
						t.Errorf("%s shows what is outside", path)
					}
				}
			}
		})
	}
	time.AfterFunc(2*time.Second, func() { close(done) })
	all.Wait()
}
