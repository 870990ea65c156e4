package ptx_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// TestWaits counts the barriers of small kernels: needed barriers, which the simulator would
// miss, and needless ones, which only this test notices.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		name        string
		block, warp int
		body        string
	}{
		{"each thread reads what it has written itself", 0, 0, `
  tile   a f32[64]
  set    a[e] = x[r, e]
  set    a[e] = a[e] * 2.0
  set    a[e] = a[e] + 1.0
  set    y[r, e] = a[e]`},
		{"neighbours", 0, 2, `
  tile   a f32[64]
  set    a[e] = x_[e] * 2.0
  tile   x_ f32[64]
  set    x_[e] = x[r, e]
  set    y[r, e] = a[63 - e]`},
		{"a reduction of what others wrote, and the next row over it", 0, 2, `
  tile   a f32[64]
  tile   x_ f32[64]
  set    x_[e] = x[r, e]
  set    a[e] = x_[e] * 2.0
  reduce s = sum(a[e])
  set    y[r, e] = s`},
		{"a reduction of what each lane wrote itself, four at a time", 0, 0, `
  tile   a f32[128]
  set    a[e] = x[r, 0]
  reduce s = sum(a[e])
  set    a[e] = a[e] * s
  reduce t = sum(a[e])
  set    y[r, e] = t`},
		{"a reduction of what the lanes wrote one at a time", 0, 4, `
  tile   a f32[T]
  tile   x_ f32[T]
  set    x_[e] = x[r, e]
  set    a[e] = x_[e] * 2.0
  reduce s = sum(a[e])
  set    a[e] = a[e] * s
  reduce t = sum(a[e])
  set    y[r, e] = t`},
		{"rows of one tile", 0, 0, `
  tile   a f32[2, 64]
  tile   x_ f32[64]
  set    x_[e] = x[r, e]
  set    a[0, e] = x_[e] * 2.0
  set    a[1, e] = a[0, e] + 1.0
  set    y[r, e] = a[1, e]`},
		{"halves of a tile, each of whole rounds of the lanes", 0, 0, `
  tile   a f32[256]
  tile   b f32[128]
  set    a[e] = x[r, 0]
  reduce s = sum(a[e])
  set    a[e] = a[e] * s
  set    b[e] = a[e] + a[e + 128]
  reduce t = sum(b[e])
  set    y[r, e] = t`},
		{"halves of a tile, each of a round and a quarter", 0, 2, `
  tile   a f32[320]
  tile   b f32[160]
  set    a[e] = x[r, 0]
  reduce s = sum(a[e])
  set    a[e] = a[e] * s
  set    b[e] = a[e] + a[e + 160]
  reduce t = sum(b[e])
  set    y[r, e] = t`},
		{"elements that the first thread sets one after the other", 0, 2, `
  tile   a f32[64]
  set    a[e] = x[r, e]
  set    a[r % 2] = a[r % 2] + 1.0
  set    a[r % 3] = a[r % 2] + a[63]
  set    y[r, e] = a[e]`},
		{"sums over a loop", 0, 0, `
  tile   a f32[64]
  tile   x_ f32[64]
  set    a[e] = 0.0
  for    i = 0 until 7
    set    x_[e] = x[i, e]
    set    a[e] = a[e] + x_[e]
  end
  set    y[r, e] = a[e]`},
		{"a loop whose iterations read what the iteration before wrote", 2, 0, `
  tile   a f32[64]
  set    a[e] = 0.0
  for    i = 0 until 7
    set    a[e] = a[e] + 1.0
    reduce s = sum(a[e])
    set    a[e] = a[e] + s
  end
  set    y[r, e] = a[e]`},
		{"iterations that are independent go to warps", 2, 2, `
  tile   a f32[7, 64]
  tile   x_ f32[64]
  for    i = 0 until 7
    set    x_[e] = x[i, e]
    set    a[i, e] = x_[e]
    reduce s = sum(a[i, e])
    set    a[i, e] = s
  end
  set    y[r, e] = a[0, e]`},
	} {
		var tiles, body []string
		for line := range strings.Lines(c.body) {
			if strings.HasPrefix(line, "  tile") {
				tiles = append(tiles, line)
			} else if strings.TrimSpace(line) != "" {
				body = append(body, strings.TrimSuffix(line, "\n")+"\n")
			}
		}
		text := "kernel k row\n  in     x f32[T, 64]\n  out    y f32[T, 64]\n  scalar T\n  grid   r < T\n" +
			strings.Join(tiles, "") + "\n" + strings.Join(body, "") + "end\n"
		ks, err := kernel.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, text)
		}
		out, err := ptx.Module(ks, ptx.Options{Aligned: func(*kernel.Kernel, int) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		block, warp := strings.Count(string(out.Text), "bar.sync"), strings.Count(string(out.Text), "bar.warp.sync")
		if block != c.block || warp != c.warp {
			t.Errorf("%s: %d barriers of the block and %d of the warp, want %d and %d\n%s", c.name, block, warp, c.block, c.warp, out.Text)
		}
	}
}
