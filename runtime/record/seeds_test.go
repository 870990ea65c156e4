package record

import "testing"

func TestSeeds(t *testing.T) {
	if got := Seeds(3, nil) + "; " + Seeds(3, new(uint64(0))); got != "seed 3; seed 3, init seed 0" {
		t.Error(got)
	}
}
