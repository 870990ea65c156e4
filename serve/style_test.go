package serve

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// luminance is the relative luminance of WCAG 2.2 for a colour as #rrggbb.
func luminance(t *testing.T, colour string) float64 {
	var c [3]int
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("%q is no colour", colour)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		x := float64(c[i]) / 255
		if x <= 0.04045 {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		sum += weight * x
	}
	return sum
}

// TestContrast holds the colours of the style sheet to WCAG 2.2, level AA: a contrast of
// 4.5 to 1 for text, and 3 to 1 for graphics.
func TestContrast(t *testing.T) {
	light, dark, _ := strings.Cut(asset("style.css"), "@media (prefers-color-scheme: dark)")
	for scheme, text := range map[string]string{"light": light, "dark": dark[:strings.Index(dark, "}\n}")]} {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6})`).FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		for _, c := range []struct {
			on, what string
			least    float64
		}{
			{"back", "ink dim accent alert", 4.5}, {"surface", "ink dim accent alert", 4.5}, {"accent", "on-accent", 4.5},
			{"right", "on-right", 4.5}, {"wrong", "on-wrong", 4.5}, {"ink", "back", 4.5},
			{"back", "s0 s1 s2 s3 s4 s5 s6 running stopped trained tested damaged square focus", 3},
		} {
			for _, what := range strings.Fields(c.what) {
				a, b := luminance(t, colours[what]), luminance(t, colours[c.on])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < c.least {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", scheme, what, c.on, ratio, c.least)
				}
			}
		}
	}
}

// TestPolicyCoversReports wants the policy of a report to allow its own style and script,
// and neither style attributes nor event handlers.
func TestPolicyCoversReports(t *testing.T) {
	for _, name := range []string{"layout.html", "run.html", "runs.html", "compare.html"} {
		if m := regexp.MustCompile(`\s(?:style|on[a-z]+)=`).FindString(asset(name)); m != "" {
			t.Errorf("%s has an attribute%s, which the policy does not allow", name, m)
		}
	}
	text, err := whole(page{Title: "t", Body: "<p>b"})
	if err != nil {
		t.Fatal(err)
	}
	_, policy, _ := strings.Cut(string(text), `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ = strings.Cut(policy, `"`)
	if want := policyOf(string(text)); strings.ReplaceAll(policy, "&#39;", "'") != strings.ReplaceAll(want, "+", "&#43;") {
		t.Errorf("the policy is %q, want %q", policy, want)
	}
}
