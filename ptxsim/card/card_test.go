package card

import (
	"math"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for asked, want := range map[string]string{
		"h200": "H200", "H100 SXM": "H100 SXM", "h100-pcie": "H100 PCIe", "4090": "RTX 4090", "NVIDIA GeForce RTX 3090": "RTX 3090",
		"a100 40": "", "A100 SXM 40": "A100 SXM 40GB", "L40S": "L40S", "nvidia b200": "B200",
	} {
		switch c, err := Find(asked); {
		case want == "" && err == nil:
			t.Errorf("%q is %s", asked, c.Name)
		case want != "" && (err != nil || c.Name != want):
			t.Errorf("%q is %q, %v, want %s", asked, c.Name, err, want)
		}
	}
	for asked, want := range map[string]string{
		"h300":     `no card is called "h300": did you mean H200? Known cards: A100 SXM 40GB, A100`,
		"rtx 4080": "did you mean RTX 4090?",
		"h100":     `several cards are called "h100": H100 SXM, H100 PCIe`,
		"":         `no card is called ""`,
	} {
		if _, err := Find(asked); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", asked, err, want)
		}
	}
}

// TestTable compares figures of a card with its other figures.
func TestTable(t *testing.T) {
	cores := map[Arch]float64{sm80: 64, sm86: 128, sm89: 128, sm90: 128, sm100: 128} // fp32 units of a multiprocessor
	for _, c := range All() {
		peak := 2 * cores[c.Arch] * float64(c.SMs) * float64(c.Clock) * 1000
		if off := c.FP32/peak - 1; math.Abs(off) > 0.08 { // the B200's brief rounds
			t.Errorf("%s: its peak is %.3g FLOP/s, its units and clock make %.3g", c.Name, c.FP32, peak)
		}
		if c.TF32 < c.FP32 || math.Abs(c.BF16/c.TF32-2) > 0.05 {
			t.Errorf("%s: tensor cores with %.3g and %.3g FLOP/s beside %.3g", c.Name, c.TF32, c.BF16, c.FP32)
		}
		if c.Memory < 20e9 || c.Bandwidth < 500e9 || c.L2 < 6*mib {
			t.Errorf("%s: memory of %d bytes, %.3g bytes/s, cache of %d", c.Name, c.Memory, c.Bandwidth, c.L2)
		}
		// NVLink has 12 or 18 links of 25 GB/s (Blackwell: 50); 16 lanes of PCIe have 2 or 4 GB/s
		// each.
		links := map[float64]bool{12 * 25e9: true, 18 * 25e9: true, 18 * 50e9: true, 16 * 2e9: false, 16 * 4e9: false}
		if nvlink, ok := links[c.Link]; !ok || nvlink != c.NVLink || c.Link >= c.Bandwidth {
			t.Errorf("%s: a link of %.3g bytes/s", c.Name, c.Link)
		}
	}
}

func TestWith(t *testing.T) {
	whole := All()[0]
	if half := whole.With(whole.SMs / 2); half.SMs != 54 || half.FP32 != whole.FP32/2 || half.BF16 != whole.BF16/2 || half.Bandwidth != whole.Bandwidth {
		t.Errorf("half of %+v is %+v", whole, half)
	}
}

// TestResident checks numbers of blocks against the programming guide's rules.
func TestResident(t *testing.T) {
	for _, x := range []struct {
		arch                       Arch
		threads, shared, registers int
		want                       int
	}{
		{sm90, 128, 0, 0, 16},        // threads
		{sm90, 32, 0, 0, 32},         // blocks
		{sm80, 128, 40 << 10, 0, 4},  // 41 KiB of 164
		{sm86, 128, 40 << 10, 0, 2},  // of 100
		{sm90, 256, 0, 128, 2},       // 65536 / 32768
		{sm90, 128, 0, 33, 12},       // 40 registers per thread are allocated
		{sm90, 100, 0, 0, 16},        // whole warps
		{sm86, 1024, 99 << 10, 0, 1}, // the largest block
		{sm86, 1024, 100 << 10, 0, 0},
	} {
		if got := x.arch.Resident(x.threads, x.shared, x.registers); got != x.want {
			t.Errorf("sm_%d%d: %d blocks of %d threads, %d bytes and %d registers, want %d", x.arch.Major, x.arch.Minor, got, x.threads, x.shared, x.registers, x.want)
		}
	}
}
