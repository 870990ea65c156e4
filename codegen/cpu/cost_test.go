package cpu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/kernel"
)

const costKernels = `
kernel linear matmul
  in     x     f32[B * T, 64]
  in     w     f32[64, 32]
  out    y     f32[B * T, 32]
  scalar B, T
  span   first, height of B * T

  tile   b f32[64, 32]
  tile   a f32[height, 64]
  tile   c f32[height, 32]
  set    a[a1, e] = x[first + a1, e]
  set    b[a1, e] = w[a1, e]
  set    c[a1, e] = 0.0
  dot    c[row, j] += a[row, k] * b[k, j]
  for    i = 0 until height
    let    r = first + i
    set    y[r, e] = c[i, e] * 2.0 + 1.0
  end
end

kernel triangle row
  in     x f32[T, 8]
  inout  y f32[T]
  scalar T
  grid   t < T

  for    j = 0 until t + 1
    reduce s = sum(x[j, e] * x[t, e]) for e < 8
    if     j < t
      set    y[t] = s + 1.0
    end
    if     0.0 < s
      set    y[t] = s * s
    end
  end
end

kernel constant map
  out    y f32[4]

  set    y[e] = sqrt(f32(e))
end
`

const costsOfThem = `func linearCost(env *device.Env) cpu.Cost {
	B, T := env.B, env.T
	return cpu.Cost{
		Bytes:    float64(B*T*256 + 8192 + B*T*128),
		Flops:    float64(B*T*4096 + B*T*64),
		Products: float64(B * T * 4096),
		Others:   float64(B * T * 64),
	}
}

func triangleCost(env *device.Env) cpu.Cost {
	T := env.T
	flops := 0
	for t := range T {
		for j := range t + 1 {
			flops += cpu.WhereOf[int](j < t, 1, 0) + 17
		}
	}
	others := 0
	for t := range T {
		for j := range t + 1 {
			others += cpu.WhereOf[int](j < t, 1, 0) + 17
		}
	}
	return cpu.Cost{
		Bytes:  float64(T*32 + T*8),
		Flops:  float64(flops),
		Others: float64(others),
	}
}

func constantCost(_ *device.Env) cpu.Cost {
	return cpu.Cost{
		Bytes:  float64(16),
		Flops:  float64(4),
		Others: float64(8),
	}
}
`

func TestCosts(t *testing.T) {
	ks, err := kernel.Parse(costKernels)
	if err != nil {
		t.Fatal(err)
	}
	data, err := newTable("kernels", nil, Options{Package: "main"}).costs(ks).Format()
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(data), "\nfunc ")
	if diff := cmp.Diff(costsOfThem, "func "+got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
