package shell

import "testing"

// TestScaled writes sizes without exponents.
func TestScaled(t *testing.T) {
	for _, c := range []struct {
		x, base float64
		want    string
	}{{12, 1000, "12 FLOP"}, {1.26e9, 1000, "1.26 GFLOP"}, {1536, 1024, "1.5 KiFLOP"}, {1.4e18, 1000, "1.4 EFLOP"}, {3e22, 1000, "30000 EFLOP"},
		{1023, 1024, "1023 FLOP"}, {1020 << 10, 1024, "1020 KiFLOP"}, {1023.7 * 1024, 1024, "1 MiFLOP"}, {999.6, 1000, "1 kFLOP"}} {
		if got := Scaled(c.x, c.base, "FLOP"); got != c.want {
			t.Errorf("%v: %s, want %s", c.x, got, c.want)
		}
	}
}
