package flags

import (
	"strings"
	"testing"
)

// TestSeedsOfTheFlag reads a seed and ranges of seeds.
func TestSeedsOfTheFlag(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    Seeds
		printed string
	}{
		{"0", Seeds{0, 0, true}, "0"}, {"18446744073709551615", Seeds{1<<64 - 1, 1<<64 - 1, true}, "18446744073709551615"},
		{"5..5", Seeds{5, 5, true}, "5"}, {"0..4095", Seeds{0, 4095, true}, "0..4095"}, {"9..12", Seeds{9, 12, true}, "9..12"},
	} {
		var got Seeds
		if err := got.UnmarshalText([]byte(c.text)); err != nil || got != c.want || got.String() != c.printed {
			t.Errorf("%s: %+v, printed %s, %v", c.text, got, got, err)
		}
	}
	for text, want := range map[string]string{
		"": wantSeeds, "-1": wantSeeds, "1..": wantSeeds, "..1": wantSeeds, "1...3": wantSeeds, "1,2": wantSeeds, "18446744073709551616": wantSeeds,
		"4..3": "want 3..4", "0..4096": "4096 seeds at most", "0..18446744073709551615": "4096 seeds at most",
	} {
		if err := new(Seeds).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
