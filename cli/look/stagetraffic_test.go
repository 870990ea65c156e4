package look

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// TestRowOfTraffic writes bytes in binary units and shares in per cent.
func TestRowOfTraffic(t *testing.T) {
	c := &ptxsim.Counts{
		Instructions: map[ptxsim.Class]int64{ptxsim.FP32: 50, ptxsim.Integer: 25, ptxsim.Memory: 20, ptxsim.Product: 5},
		Loads:        ptxsim.Traffic{Sectors: 20000}, Stores: ptxsim.Traffic{Sectors: 12000},
		Fetched: 600 << 10, Kept: 300 << 10,
		SharedLoads: ptxsim.Banks{Wavefronts: 30, Conflicts: 6}, SharedStores: ptxsim.Banks{Wavefronts: 10},
	}
	for _, x := range []struct {
		t    traffic
		want string
	}{
		{traffic{"k", 3, 800 << 10, c}, "3|800 KiB|1000 KiB|1.25|900 KiB|40|15%|100|50%|25%|20%|5|  k"},
		{traffic{"idle", 1, 0, new(ptxsim.Counts)}, "1|0 B|0 B|0.00|0 B|0|-|0|-|-|-|0|  idle"},
	} {
		if got := strings.ReplaceAll(x.t.row(), "\t", "|"); got != x.want {
			t.Errorf("%s, want %s", got, x.want)
		}
	}
}

// TestNewOnCard accepts hardware for the stage that counts launches alone.
func TestNewOnCard(t *testing.T) {
	for _, c := range []struct {
		name, stage string
		sms         int
		want        string // part of the error; "": none
	}{
		{"", "kernel", 0, ""},
		{"", launchesStage, 0, ""},
		{"", launchesStage, 1, ""},
		{"h100 sxm", launchesStage, 132, ""},
		{"h100", launchesStage, 132, "--card: several cards"},
		{"h100", "kernel", 0, "--card and --sms are for --stage " + launchesStage},
		{"", "kernel", 7, "--card and --sms are for --stage " + launchesStage},
		{"", launchesStage, -1, "--sms -1: want a number above 0"},
		{"abacus", launchesStage, 0, "--card: "},
	} {
		_, err := NewOnCard(c.name, c.sms, c.stage)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q with %d multiprocessors at stage %s: %v, want %q", c.name, c.sms, c.stage, err, c.want)
		}
	}
}
