package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/arithlang/mlc/runtime/eval"
)

// tested returns a run of a name and seed whose result has some means.
func tested(name string, seed uint64, ood, ood100 float64) *Run {
	return &Run{Name: fmt.Sprintf("%s-seed-%d", name, seed), Seed: seed, Result: &eval.Result{
		Settings: eval.Settings{Metric: eval.ExactMatch}, ID: new(1.0), OOD: &ood, OOD100: &ood100}}
}

// TestFacets splits names of systems into the words in which they differ.
func TestFacets(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"lt-abacus st-abacus lt-fire st-fire", "lt st | abacus fire"},
		{"abacus-layers-8-times-2 abacus-layers-4-times-4 fire-layers-8-times-2 fire-layers-4-times-4", "abacus fire | layers-8-times-2 layers-4-times-4"},
		{"lt-digits-1-10 st-digits-1-10 lt-digits-1-20 st-digits-1-20", "lt st | digits-1-10 digits-1-20"},
		{"lt-abacus st-fire", "lt-abacus st-fire"},
		{"lt-abacus st-abacus st-fire", "lt st | abacus fire"},
		{"lt-abacus st", "lt-abacus st"},
		{"lt", "lt"},
	} {
		systems, own := strings.Fields(c.names), map[string]string{}
		for _, s := range systems {
			own[s] = s
		}
		var got []string
		for _, f := range facets(own, systems) {
			got = append(got, strings.Join(f.values, " "))
		}
		if got := strings.Join(got, " | "); got != c.want {
			t.Errorf("%s: %s, want %s", c.names, got, c.want)
		}
	}
}

// TestBars looks in the pictures for the height and colour of each bar and the ends of each
// whisker. Values are in per cent, by panel, group, colour and mean.
func TestBars(t *testing.T) {
	var runs []*Run
	ood := func(p, g, c, seed int) float64 { return float64(11+7*p+13*g+17*c+4*seed*seed) / 100 }
	far := func(p, g, c, seed int) float64 { return ood(p, g, c, seed) / 3 }
	for p, size := range []int{10, 20, 30} {
		for g, architecture := range []string{"lt", "st"} {
			for c, embedding := range []string{"abacus", "fire"} {
				if p == 1 && g == 1 && c == 1 {
					continue // this system has not been tested
				}
				for seed := range 3 {
					runs = append(runs, tested(fmt.Sprintf("figure-%s-%s-digits-1-%d", architecture, embedding, size), uint64(seed), ood(p, g, c, seed), far(p, g, c, seed)))
				}
			}
		}
	}
	runs = append(runs, runs[0], &Run{Name: "figure-lt-abacus-digits-1-10-seed-9", Seed: 9}) // counted once, and without a result
	for _, group := range []int{0, 2} {
		f, err := Bars(runs, Options{Group: group})
		if err != nil {
			t.Fatal(err)
		}
		l, img, boxes := f.layout(), picture(t, f), rectangles(t, f)
		dark := func(x, y vg.Length) bool {
			r, g, b, _ := img.At(int(x/dot), img.Bounds().Dy()-1-int(y/dot)).RGBA()
			return r+g+b < 3*0x5000
		}
		for p := range 3 {
			data := l.data[p/barPanels][p%barPanels]
			height := func(percent float64) vg.Length { // the largest value, of the last system, is 91
				return data.Min.Y + data.Size().Y*vg.Length(percent/108)
			}
			for n := range 8 {
				x, second, mean := n/4, n/2%2, n%2
				g, c := x, second
				if group == 2 {
					g, c = second, x
				}
				slot := 4*g + 2*c + mean
				if group == 2 {
					slot = 4*c + 2*g + mean // grouped by embedding, coloured by architecture
				}
				var values []float64
				for seed := range 3 {
					values = append(values, 100*[]func(p, g, c, seed int) float64{ood, far}[mean](p, g, c, seed))
				}
				want := lineColours[slot/2%2]
				if mean == 1 {
					want = lighter(want)
				}
				shown := fmt.Sprintf("%02x%02x%02x", want.R, want.G, want.B)
				width := data.Size().X / 2
				share := float64(4 * oneBar / (4*oneBar + betweenBar))
				middle := data.Min.X + width*vg.Length(float64(slot/4)+0.5-share/2+share*(float64(slot%4)+0.5)/4)
				at := slices.IndexFunc(boxes, func(b filled) bool {
					return b.colour == shown && b.Min.X < middle && middle < b.Max.X && math.Abs(float64(b.Min.Y-data.Min.Y)) < 2*float64(dot)
				})
				if p == 1 && g == 1 && c == 1 {
					if at >= 0 {
						t.Errorf("group %d, panel %d, bar %d: a bar without a result", group, p, n)
					}
					continue
				}
				if at < 0 {
					t.Errorf("group %d, panel %d, bar %d: there is no bar of %s", group, p, n, shown)
					continue
				}
				if got, want := boxes[at].Max.Y, height((values[0]+values[1]+values[2])/3); math.Abs(float64(got-want)) > float64(dot) {
					t.Errorf("group %d, panel %d, bar %d: its height is %v, want %v", group, p, n, got-data.Min.Y, want-data.Min.Y)
				}
				least, most := height(slices.Min(values)), height(slices.Max(values))
				side := middle + vg.Points(1.5) // in a cap, beside the line
				if !dark(side, least) || !dark(side, most) || !dark(middle, (least+most)/2) || dark(side, least-6*dot) && mean == 0 {
					t.Errorf("group %d, panel %d, bar %d: no whisker from %.1f to %.1f", group, p, n, slices.Min(values), slices.Max(values))
				}
			}
		}
		said, named := texts(t, f), []string{"lt", "abacus: ood"}
		if group == 2 {
			named = []string{"abacus", "lt: ood100"}
		}
		for _, want := range append(named, "figure", "digits-1-20", "least to most of 3 seeds", "exact match (%)", "17.6") {
			if !slices.Contains(said, want) {
				t.Errorf("group %d: %q is not in %q", group, want, said)
			}
		}
	}
	if _, err := Bars(runs, Options{Group: 4}); err == nil || !strings.Contains(err.Error(), "differ in 3") {
		t.Errorf("a fourth word: %v", err)
	}
	if f, err := Bars(runs[:1], Options{}); f != nil || err != nil {
		t.Errorf("bars of one run: %v", err)
	}
}

// TestBarMeans shows id where longer problems were not tested, and a number of seeds that
// differs.
func TestBarMeans(t *testing.T) {
	runs := []*Run{tested("a", 1, 0, 0), tested("a", 2, 0, 0), tested("b", 1, 0, 0)}
	for i, r := range runs {
		r.Result.OOD, r.Result.OOD100, r.Result.ID = nil, nil, new(0.5+float64(i)/10)
	}
	f, err := Bars(runs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if said := texts(t, f); !slices.Contains(said, "id") || !slices.Contains(said, "least to most of 1 to 2 seeds") || !slices.Contains(said, "55.0") || !slices.Contains(said, "70.0") {
		t.Errorf("%q", said)
	}
	if got := tenths(99.99); got != "99.9" {
		t.Errorf("99.99 is written as %s", got)
	}
	if lighter(color.RGBA{0xff, 0, 0x80, 0xff}) != (color.RGBA{0xff, 0x80, 0xc0, 0xff}) {
		t.Error("a lighter colour is another one")
	}
}
