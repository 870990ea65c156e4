package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEndless shows pages of a run whose metrics would fill the memory.
func TestEndless(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "large/run.json", `{"name":"large","seed":1,"budget":{"steps":100}}`)
	put(t, dir, "large/metrics.jsonl", reported(1, 2))
	if err := os.Truncate(filepath.Join(dir, "large", "metrics.jsonl"), 30<<30); err != nil { // a sparse file
		t.Skip(err)
	}
	server := served(t, faked(dir))
	if status, text, _ := got(t, "GET", server.URL, nil); status != 200 || !strings.Contains(text, "large") {
		t.Errorf("the list: %d\n%.400s", status, text)
	}
	if status, text, _ := got(t, "GET", server.URL+"/run?run=large", nil); status != 200 || !strings.Contains(text, "metrics.jsonl is damaged: it has more than 1024 MiB") {
		t.Errorf("the run: %d\n%s", status, text)
	}
}
