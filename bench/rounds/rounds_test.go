package rounds

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// actor is the environment variable that makes this test's binary a contestant. Its value has a
// name for a log, the seconds of a step, and after how many answers it fails (0: never).
const actor = "BENCH_TEST_ACTOR"

func TestMain(m *testing.M) {
	if part := os.Getenv(actor); part != "" {
		if err := act(part); err != nil {
			fmt.Fprintln(os.Stderr, "first line\n"+err.Error())
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(part string) error {
	var name, path string
	var step float64
	var fails int
	if _, err := fmt.Sscan(part, &name, &step, &fails, &path); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for asked := 1; in.Scan(); asked++ {
		var steps int
		if _, err := fmt.Sscan(in.Text(), &steps); err != nil {
			return err
		}
		if asked == fails {
			return errors.New("no memory")
		}
		fmt.Fprintf(log, "%s%d ", name, steps)
		fmt.Printf("%.6f\n", step*float64(steps))
	}
	return in.Err()
}

// actors are contestants that log what they do.
func actors(log string, parts ...string) []Contestant {
	var cs []Contestant
	for _, part := range parts {
		name, _, _ := strings.Cut(part, " ")
		cs = append(cs, Contestant{name, Process("env", actor+"="+part+" "+log, os.Args[0])})
	}
	return cs
}

// play measures actors and returns their log.
func play(t *testing.T, rounds int, length time.Duration, parts ...string) ([]Result, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	results := Measure(t.Context(), actors(path, parts...), Options{Rounds: rounds, Length: length})
	return results, logged(t, path)
}

func logged(t *testing.T, path string) string {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(log))
}

func TestDuels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	cs := actors(path, "a 2 0", "b 6 0", "fails 1 2")
	results := Duels(t.Context(), cs[0], cs[1:], Options{Rounds: 2})
	if got, want := logged(t, path), "a1 b1 a1 b1 a1 b1 a1 fails1 a1 a1"; got != want {
		t.Errorf("they did %s, want %s", got, want)
	}
	if !cmp.Equal(results[0].Seconds, []float64{2, 2, 2, 2}) || results[0].Err != nil {
		t.Errorf("the first of all duels: %v, error %v", results[0].Seconds, results[0].Err)
	}
	if got, known := results[1].Ratio(); got != 3 || !known {
		t.Errorf("ratio %g of %v by %v", got, results[1].Seconds, results[1].Base)
	}
	if got, known := results[2].Ratio(); known || results[2].Err == nil {
		t.Errorf("ratio %g of one that failed", got)
	}
	alone := Duels(t.Context(), cs[0], nil, Options{Rounds: 1})
	if len(alone) != 1 || !cmp.Equal(alone[0].Seconds, []float64{2}) {
		t.Errorf("without peers: %v", alone)
	}
}

func TestRoundsTakeTurns(t *testing.T) {
	results, log := play(t, 2, 2*time.Second, "a 0.5 0", "b 0.1 0", "c 30 0")
	if want := "a1 b1 c1 a4 b20 c1 a4 b20 c1"; log != want {
		t.Errorf("they did %s, want %s", log, want)
	}
	for i, want := range [][]float64{{0.5, 0.5}, {0.1, 0.1}, {30, 30}} {
		r := results[i]
		if r.Err != nil || !cmp.Equal(want, r.Seconds) {
			t.Errorf("%s: %v, error %v, want %v", r.Title, r.Seconds, r.Err, want)
		}
		if r.Peak < 1<<20 {
			t.Errorf("%s had %d bytes of memory", r.Title, r.Peak)
		}
	}
}

func TestWhoFailsIsOut(t *testing.T) {
	results, log := play(t, 2, time.Second, "a 1 0", "early 1 1", "late 1 3", "wrong 0 0")
	if want := "a1 late1 wrong1 a1 late1 a1"; log != want {
		t.Errorf("they did %s, want %s", log, want)
	}
	for i, want := range []string{"", "exit status 3: no memory", "exit status 3: no memory", `answer "0.000000": 0 seconds`} {
		got := ""
		if err := results[i].Err; err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: error %q, want %q", results[i].Title, got, want)
		}
	}
}

func TestWhoIsMissingIsOut(t *testing.T) {
	results := Measure(t.Context(), []Contestant{{"nobody", Process("/no/such/program")}}, Options{Rounds: 1})
	if !errors.Is(results[0].Err, os.ErrNotExist) {
		t.Errorf("error %v", results[0].Err)
	}
}
