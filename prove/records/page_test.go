package records

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/prove"
	"github.com/arithlang/mlc/prove/timing"
	"github.com/arithlang/mlc/runtime/profile"
)

// benched returns the output of a trainer's bench --json as a part of a result.
func benched(t *testing.T, file string) *prove.Part {
	t.Helper()
	var b struct {
		Name    string        `json:"name"`
		Batch   int           `json:"batch"`
		Chunk   int           `json:"chunk"`
		GPU     profile.GPU   `json:"gpu"`
		Kernels []profile.Row `json:"kernels"`
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil || b.GPU.Ahead <= 0 || len(b.Kernels) < 20 {
		t.Fatalf("%s: %v, %+v", file, err, b)
	}
	_, precision, _ := strings.Cut(strings.TrimSuffix(file, ".bench.json"), b.Name+"-")
	b.GPU.Rows = b.Kernels
	return &prove.Part{
		Name:  fmt.Sprintf("%s %s %d in chunks of %d", b.Name, precision, b.Batch, b.Chunk),
		Timed: &timing.Timing{Name: b.Name, Batch: b.Batch, GPU: b.GPU},
	}
}

// TestPage checks that docs/gpu-speeds.md has exactly the recorded speeds.
func TestPage(t *testing.T) {
	files, err := filepath.Glob("*.json*")
	if err != nil {
		t.Fatal(err)
	}
	var records []record
	for _, file := range files {
		record := record{Name: file}
		if strings.HasSuffix(file, ".bench.json") {
			_, record.Started, _ = strings.Cut(file, "-") // the date comes after the card
			record.Parts = []*prove.Part{benched(t, file)}
		} else {
			r, err := prove.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			record.Started, record.Parts = r.Started, r.Speeds()
		}
		records = append(records, record)
	}
	const page, begin, end = "../../docs/gpu-speeds.md", "<!-- speeds: go test ./prove/records -run Page -update -->\n", "<!-- end of speeds -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for speeds: %q, then %q", page, begin, end)
	}
	golden.Compare(t, page, before+begin+speedTables(records)+end+after)
}
