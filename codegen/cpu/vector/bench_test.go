package vector

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// BenchmarkFiles measures compilation of all vector kernels that this module has.
func BenchmarkFiles(b *testing.B) {
	var ls []*Kernel
	for _, k := range texts(b) {
		if l := kernelOf(k); l != nil && NewAssembly().Add(l) == nil {
			ls = append(ls, l)
		}
	}
	for b.Loop() {
		if _, err := files("Code.", ls); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(ls)), "kernels")
}

// rows are typical row kernels of width %[1]d.
const rows = `
kernel dropout_%[1]d map
  in     x f32[B * T, %[1]d]
  in     bias f32[%[1]d]
  out    y f32[B * T, %[1]d]
  out    z f32[B * T, %[1]d]
  scalar B, T, example
  grid   r < B * T
  tile   x_ f32[%[1]d]
  tile   b_ f32[%[1]d]
  tile   t f32[%[1]d]
  tile   bits u32[%[1]d]
  set    x_[e] = x[r, e]
  set    b_[e] = bias[e]
  set    t[e] = max(x_[e] + b_[e], 0.0)
  set    y[r, e] = t[e]
  let    d1 = r %% T
  let    d0 = r / T
  random bits[%[1]d] = 15 of example + as_u32(d0) from d1 * %[1]d
  set    z[r, e] = where(bits[e] < 0x1999999au, 0.0, t[e] * 1.1111112)
end
kernel relu_%[1]d map
  in     x f32[B * T, %[1]d]
  in     bias f32[%[1]d]
  out    y f32[B * T, %[1]d]
  scalar B, T
  grid   r < B * T
  tile   x_ f32[%[1]d]
  tile   b_ f32[%[1]d]
  set    x_[e] = x[r, e]
  set    b_[e] = bias[e]
  set    y[r, e] = max(x_[e] + b_[e], 0.0)
end
kernel norm_%[1]d row
  in     x f32[B * T, %[1]d]
  in     gamma f32[%[1]d]
  in     beta f32[%[1]d]
  out    y f32[B * T, %[1]d]
  scalar B, T
  grid   r < B * T
  tile   x_ f32[%[1]d]
  tile   g_ f32[%[1]d]
  tile   b_ f32[%[1]d]
  set    x_[e] = x[r, e]
  set    g_[e] = gamma[e]
  set    b_[e] = beta[e]
  reduce sum = sum(x_[e])
  let    mean = sum * 0.015625
  reduce squares = sum((x_[e] - mean) * (x_[e] - mean))
  let    rstd = 1.0 / sqrt(squares * 0.015625 + 1e-05)
  set    y[r, e] = (x_[e] - mean) * rstd * g_[e] + b_[e]
end
kernel norm_grad_%[1]d row
  in     x f32[B * T, %[1]d]
  in     gamma f32[%[1]d]
  in     dy f32[B * T, %[1]d]
  out    y f32[B * T, %[1]d]
  scalar B, T
  grid   r < B * T
  tile   x_ f32[%[1]d]
  tile   g_ f32[%[1]d]
  tile   d_ f32[%[1]d]
  set    x_[e] = x[r, e]
  set    g_[e] = gamma[e]
  set    d_[e] = dy[r, e]
  reduce sum = sum(x_[e])
  let    mean = sum * 0.015625
  reduce squares = sum((x_[e] - mean) * (x_[e] - mean))
  let    rstd = 1.0 / sqrt(squares * 0.015625 + 1e-05)
  reduce sum1 = sum(d_[e] * g_[e])
  let    m1 = sum1 * 0.015625
  reduce sum2 = sum(d_[e] * g_[e] * ((x_[e] - mean) * rstd))
  let    m2 = sum2 * 0.015625
  set    y[r, e] = rstd * (d_[e] * g_[e] - m1 - (x_[e] - mean) * rstd * m2)
end
kernel softmax_%[1]d row
  in     x f32[B * T, %[1]d]
  out    y f32[B * T, %[1]d]
  scalar B, T
  grid   r < B * T
  tile   x_ f32[%[1]d]
  tile   p f32[%[1]d]
  set    x_[e] = x[r, e]
  reduce largest = max(x_[e])
  set    p[e] = exp(x_[e] - largest)
  reduce total = sum(p[e])
  let    scale1 = 1.0 / total
  set    y[r, e] = p[e] * scale1
end
kernel adam_%[1]d map
  in     g f32[B * T * %[1]d]
  inout  m f32[B * T * %[1]d]
  inout  v f32[B * T * %[1]d]
  inout  w f32[B * T * %[1]d]
  scalar B, T, lr, bias_correction1, bias_correction2, clip, decay
  tile   g_ f32[B * T * %[1]d]
  tile   m_ f32[B * T * %[1]d]
  tile   v_ f32[B * T * %[1]d]
  tile   w_ f32[B * T * %[1]d]
  set    g_[e] = g[e]
  set    m_[e] = m[e]
  set    v_[e] = v[e]
  set    w_[e] = w[e]
  set    m_[e] = m_[e] * 0.9 + g_[e] * clip * 0.1
  set    v_[e] = v_[e] * 0.98 + g_[e] * clip * (g_[e] * clip) * 0.02
  set    m[e] = m_[e] for e < B * T * %[1]d
  set    v[e] = v_[e] for e < B * T * %[1]d
  set    w[e] = w_[e] - lr * (m_[e] * bias_correction1 / (sqrt(v_[e] * bias_correction2) + 1e-8) + decay * w_[e]) for e < B * T * %[1]d
end
`

const benchmark = `package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

func TestSpeed(t *testing.T) {
	for i, k := range kernels {
		line := fmt.Sprintf("%-16s", k.Name)
		for _, name := range []string{"avx512", "avx2"} {
			isa, err := cpu.ParseISA(name)
			if err != nil {
				continue
			}
			var width int
			fmt.Sscanf(k.Name[len(k.Name)-3:], "%d", &width)
			if width == 0 {
				fmt.Sscanf(k.Name[len(k.Name)-2:], "%d", &width)
			}
			rows := 8192 / width
			size := rows*width
			w := cpu.NewWorker(kernels, isa, cpu.Memory{F32: func() (m [device.NumSpaces][]float32) {
				m[device.Work] = make([]float32, 5*size)
				for i := range m[device.Work] {
					m[device.Work][i] = float32(i%17) / 8
				}
				return
			}()})
			env := &device.Env{B: 1, T: rows, Seed: 7, LR: 0.001, BiasCorrection1: 1, BiasCorrection2: 1, Clip: 1}
			var refs []device.Ref
			for j := range 4 {
				refs = append(refs, device.Ref{Space: device.Work, Off: j * size})
			}
			best := time.Hour
			for range 200 {
				start := time.Now()
				w.Launch(i, env, refs...)
				best = min(best, time.Since(start))
			}
			line += fmt.Sprintf("  %s %6.3f ns", name, float64(best.Nanoseconds())/float64(size))
		}
		fmt.Println(line)
	}
}
`

// BenchmarkRows prints how long typical rows take per element.
func BenchmarkRows(b *testing.B) {
	var ls []*Kernel
	var ks []*kernel.Kernel
	buffers := map[*Kernel]int{}
	for _, width := range []int{64, 128, 512} {
		more, err := kernel.Parse(fmt.Sprintf(rows, width))
		if err != nil {
			b.Fatal(err)
		}
		ks = append(ks, more...)
	}
	for _, k := range ks {
		l := kernelOf(k)
		if err := NewAssembly().Add(l); err != nil {
			b.Fatal(err)
		}
		for _, p := range k.Params {
			if p.Mode != kernel.Scalar {
				buffers[l]++
			}
		}
		ls = append(ls, l)
	}
	dir := write(b, ls, buffers)
	if err := os.WriteFile(filepath.Join(dir, "speed_test.go"), []byte(benchmark), 0o644); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-v", "-run", "TestSpeed", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	fmt.Printf("%s", out)
}
