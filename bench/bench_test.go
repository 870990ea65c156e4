package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
)

func TestWhoIsMissingIsLeftOut(t *testing.T) {
	o := options{Peers: []string{"eager", "jax"}, Python: "/no/such/python"}
	for _, p := range o.installed(context.Background()) {
		if p.Missing == "" {
			t.Errorf("%s is not missing", p.Title)
		}
	}
}

func TestAgreementHasLimits(t *testing.T) {
	good := agreement{Title: "it", Loss: 1e-7, Gradient: 1e-5, Step: 1e-4}
	if err := good.err(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*agreement){
		"loss":     func(a *agreement) { a.Loss = 1e-3 },
		"gradient": func(a *agreement) { a.Gradient = 0.1 },
		"step":     func(a *agreement) { a.Step = 1 },
		"nan":      func(a *agreement) { a.Loss /= 0 * a.Loss },
	} {
		bad := good
		if spoil(&bad); bad.err() == nil {
			t.Errorf("%s: a different model counts as the same", name)
		}
	}
}

func TestPage(t *testing.T) {
	p := page{Date: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Threads: 2, Rounds: 7, Cases: []string{"x"},
		Peers: []peer{{"eager", "PyTorch 1 eager", ""}, {"jax", "JAX jit", "no jax"}, {"compile", "PyTorch 1 torch.compile", ""}}}
	p.Sections = []section{{Case: peers.Case{Name: "x", Title: "a model", Spec: "x.arith", Set: []string{"a=1"}},
		Info: info{Version: "v1", Params: 12345, Devices: []string{"cpu: c"}},
		Results: []rounds.Result{
			{Title: ours, Start: time.Second, Seconds: []float64{1, 2, 4}, Peak: 3 << 20},
			{Title: "PyTorch 1 eager", Start: 2 * time.Second, Seconds: []float64{2, 6, 9}, Base: []float64{1, 2, 4}, Peak: 5 << 20},
			{Title: "PyTorch 1 torch.compile", Err: errors.New("no compiler")},
		},
		Agreements: []agreement{{Title: "PyTorch 1 eager", Loss: 1e-7}, {Title: "JAX jit", Loss: 1}},
		Kernels:    "kernel table\n"}}
	want := strings.ReplaceAll(`
- 2026-11-21, 'go run ./bench --threads 2 --rounds 7 --only x'
- mlc v1; cpu: c
- PyTorch 1 eager
- JAX jit left out: no jax
- PyTorch 1 torch.compile

| case | mlc, s a step | PyTorch 1 eager | PyTorch 1 torch.compile |
|---|---|---|---|
| x | 2 | 2.25 | – |

## x: a model

'x.arith' with '--set 'a=1'', 12345 parameters everywhere.

|  | s a step | ratio | spread | start | memory |
|---|---|---|---|---|---|
| mlc | 2 | – | 150 % | 1.0 s | 3 MiB |
| PyTorch 1 eager | 6 | 2.25 | 117 % | 2.0 s | 5 MiB |
| PyTorch 1 torch.compile | failed |  |  |  |  |

PyTorch 1 torch.compile failed: no compiler

One step of PyTorch 1 eager on 8 problems from equal parameters, without dropout: loss 1e-07, gradient 0e+00, step 0e+00 apart.

**JAX jit is another model: the losses are 1 apart**

Its kernels, by 'NAME bench':

'''
kernel table
'''
`, "'", "`")
	want = strings.Replace(want, "`--set `a=1``", "`--set 'a=1'`", 1)
	if diff := cmp.Diff(preface+want, p.String()); diff != "" {
		t.Error(diff)
	}
	p.ARM64, p.Launches = "# ARM64\n\ncounts\n", "# Launches\n\ntable\n"
	if _, last, _ := strings.Cut(p.String(), want); last != "\n## ARM64\n\ncounts\n\n## Launches\n\ntable\n" {
		t.Errorf("after the cases comes %q", last)
	}
	if err := p.disagreement(); err == nil || !strings.Contains(err.Error(), "x: JAX jit is another model") {
		t.Errorf("disagreement: %v", err)
	}
	if err := (&page{Sections: []section{{}}}).disagreement(); err == nil {
		t.Error("no comparison counts as agreement")
	}
}
