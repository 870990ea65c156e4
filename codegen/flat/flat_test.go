package flat

import (
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// of brings a kernel with the given lines between its buffers and its end into
// flat form.
func of(t *testing.T, lines string) *kernel.Kernel {
	t.Helper()
	ks, err := kernel.Parse(`
kernel k row
  in     x f32[T, 40]
  in     w f32[40, 8]
  out    y f32[T, 40]
  inout  z f32[T, 8]
  scalar T, P
` + lines + `
end
`)
	if err != nil {
		t.Fatal(err)
	}
	return Of(ks[0], Processor())
}

// TestTileSizes wants tiles to be made once, large enough for all their sizes.
func TestTileSizes(t *testing.T) {
	for shape, want := range map[string]string{
		"40":                    "40",
		"T":                     "T",
		"min(T - g*8, 8)":       "8",
		"min(T - g*8, T)":       "T",
		"g + 1":                 "(T + 7) / 8",
		"T - g":                 "T",
		"(g + 3)/2":             "((T + 7) / 8 + 2) / 2",
		"max(g, 5)":             "max((T + 7) / 8 + -1, 5)",
		"max(min(g - 9, 4), 0)": "4",
		"max(P - g*3, 0)":       "max(P, 0)",
		"2*g, min(g, 3)":        "max(((T + 7) / 8 + -1) * 2, 0) * 3",
		"T - min(g, T)/4*4":     "max(T - min(T, 0) / 4 * 4, 0)",
		"where(P < g, T, 40)":   "max(T, 40)",
		"where(P < g, T, g/g)":  "",
		"i32(sqrt(f32(g)))":     "",
		"abs(g)":                "",
	} {
		r := of(t, `
  grid   g < (T + 7) / 8
  tile   t f32[`+shape+`]
  set    t[`+map[bool]string{true: "i, "}[shape == "2*g, min(g, 3)"]+`j] = 1.0
  set    y[g, 0] = t[0`+map[bool]string{true: ", 0"}[shape == "2*g, min(g, 3)"]+`]`)
		got := ""
		for _, s := range r.Once {
			got = s.(*kernel.Tile).Shape[0].String()
		}
		if got != want {
			t.Errorf("a tile of %s is made with %q, want %q", shape, got, want)
		}
	}
}

// TestWriteThrough wants products to go to a buffer at once exactly where nobody
// can tell.
func TestWriteThrough(t *testing.T) {
	const operands = `
  tile   a f32[T, 40]
  tile   b f32[40, 8]
  tile   c f32[T, 8]
  set    a[i, k] = x[i, k]
  set    b[k, n] = w[k, n]
`
	for lines, want := range map[string]string{
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, n] for i < T, n < 8":                                     "z",
		"set c[i, n] = z[i, n]\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, n] for i < T, n < 8":                                 "z",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nfor r = 0 until T\nlet s = r + 0\nset z[s, n] = c[r, n] for n < 8\nend":     "z",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nfor r = 0 until T\nset y[r, n + 2] = c[r, n] for n < 8\nend":                "y",
		"set c[i, n] = 1.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, n] for i < T, n < 8":                                     "c",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, n]*2.0 for i < T, n < 8":                                 "c",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, n] for i < T - 1, n < 8":                                 "c",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, 7 - n] for i < T, n < 8":                                 "c",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, n] for i < T, n < 8\nset y[0, 0] = c[0, 0]":              "c",
		"set c[i, n] = z[i, n]\ndot c[i, n] += a[i, k] * b[k, n]\nset y[i, n] = c[i, n] for i < T, n < 8":                                 "c",
		"set c[i, n] = z[i, n]\nset z[0, 0] = 1.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[i, n] = c[i, n] for i < T, n < 8":              "c",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nset z[0, 0] = 1.0\nset z[i, n] = c[i, n] for i < T, n < 8":                  "c",
		"set c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nfor r = 0 until T\nset z[r, n] = c[r, n] for n < 8\nset y[r, 0] = 1.0\nend": "c",
		"var s i32 = 1\nset c[i, n] = 0.0\ndot c[i, n] += a[i, k] * b[k, n]\nset s = 0\nset z[i, n + s] = c[i, n] for i < T, n < 8":       "c",
	} {
		r := of(t, operands+lines)
		for _, n := range r.Body {
			if d, ok := n.(*kernel.Dot); ok && d.Dst.Name != want {
				t.Errorf("the product goes to %s, want %s:\n%s", d.Dst.Name, want, lines)
			}
		}
	}
}
