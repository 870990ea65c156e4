package serve

import (
	"path/filepath"
	"testing"
	"time"
)

// TestShort wants a duration in the two units that tell most.
func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 59400 * time.Millisecond: "59 s", time.Minute: "1 min 00 s", 61 * time.Second: "1 min 01 s",
		time.Hour - time.Second: "59 min 59 s", time.Hour: "1 h 00 min", 25*time.Hour + 2*time.Minute: "25 h 02 min",
	} {
		if got := short(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// TestShownPath wants a path below this folder from here, and any other whole.
func TestShownPath(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		filepath.Join(here, "runs", "a"): filepath.Join("runs", "a"), filepath.Dir(here): filepath.Dir(here), here: ".",
	} {
		if got := shownPath(dir); got != want {
			t.Errorf("%s is shown as %s, want %s", dir, got, want)
		}
	}
}
