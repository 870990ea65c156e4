package runtime

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/world"
)

// TestDevicesOfMLC wants a trainer without sim and count to say that mlc has them.
func TestDevicesOfMLC(t *testing.T) {
	m := toyOnGPU()
	dir := trained(t, m, "--device", "cpu", "--steps", "1", "--quiet")
	for _, args := range [][]string{
		{"train", "--device", "sim"}, {"eval", dir, "--device", "sim"}, {"solve", dir, "1", "--device", "sim"}, {"bench", "--device", "sim"},
		{"train", "--device", "count"}, {"eval", dir, "--device", "count"}, {"bench", "--device", "count"},
	} {
		s := callApp(t, world.App{Model: m, Brought: []world.Device{}}, append([]string{"./toy"}, args...))
		want := ", not this program: mlc train toy.arith --device sim, or mlc bench toy.arith --device count\n"
		if s.code != world.ExitUsage || s.out != "" || !strings.Contains(s.err, want) {
			t.Errorf("%v: exit %d, no %q in\n%s%s", args, s.code, want, s.out, s.err)
		}
	}
	s := callApp(t, world.App{Model: m, Brought: []world.Device{}}, []string{"./toy", "train", "--device", "tpu"})
	if s.code != world.ExitUsage || !strings.Contains(s.err, `unknown device "tpu": want auto, cpu or cuda`) {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestBroughtDevice trains on a device that the program brings along, and leaves tests to the
// user.
func TestBroughtDevice(t *testing.T) {
	dir := t.TempDir() + "/run"
	s := call(t, toyOnGPU(), "", "train", "--device", "sim", "--steps", "1", "--out", dir)
	for _, want := range []string{"simulating a GPU\n", ", every access checked", "not tested, which takes long on sim; test with: ./toy eval " + dir + "\n"} {
		if s.code != world.ExitOK || s.out != "" || !strings.Contains(s.err, want) {
			t.Errorf("exit %d, no %q in\n%s%s", s.code, want, s.out, s.err)
		}
	}
	s = call(t, toyOnGPU(), "", "train", "--device", "sim", "--steps", "1", "--json", "--quiet", "--out", dir+"2")
	if want := `{"run":"` + dir + "2\"}\n"; s.code != world.ExitOK || s.out != want {
		t.Errorf("exit %d\n%s%s, want %s", s.code, s.out, s.err, want)
	}
}
