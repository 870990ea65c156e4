package train

import "testing"

func TestServing(t *testing.T) {
	for _, c := range []struct{ batch, cores, want int }{{128, 4, 32}, {128, 5, 16}, {128, 128, 1}, {128, 129, 0}, {50, 8, 5}, {512, 32, 16}, {7, 2, 1}} {
		if got := Serving(c.batch, c.cores); got != c.want {
			t.Errorf("a batch of %d for %d cores: %d, want %d", c.batch, c.cores, got, c.want)
		}
	}
}
