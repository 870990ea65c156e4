package check

import (
	"strings"
	"testing"
)

// lineOf returns the line of a resolved spec that sets begin, without indentation and
// with single spaces.
func lineOf(resolved, begin string) string {
	for line := range strings.Lines(resolved) {
		if line = strings.Join(strings.Fields(line), " "); strings.HasPrefix(line, begin+" = ") {
			return line
		}
	}
	return ""
}

// TestArguments sets arguments by their paths, wherever settings may be written.
func TestArguments(t *testing.T) {
	const adam = ", betas = [0.9, 0.98], eps = 1e-9)"
	for _, c := range []struct{ name, src, want string }{
		{"of a default", "--set train.optimizer.lr=3e-4\n", "optimizer = adamw(lr = 0.0003, betas = [0.9, 0.98], eps = 1e-9, decay = 0.01)"},
		{"of a call", "train.optimizer = adam(eps = 1e-9, lr = 1)\n--set train.optimizer.lr=3e-4\n", "optimizer = adam(lr = 0.0003" + adam},
		{"of a name", "train.optimizer = adam\ntrain { optimizer.lr = 0.2 }\n", "optimizer = adam(lr = 0.2" + adam},
		{"given without its name", "train.optimizer = adam(1, [0.9, 0.9])\n--set train.optimizer.lr=0.2\n", "optimizer = adam(lr = 0.2, betas = [0.9, 0.9], eps = 1e-9)"},
		{"behind one without its name", "task.pad = zero(7)\ntask.pad.step = 3\n", "pad = zero(to = 7, step = 3, answer = none)"},
		{"several", "train.optimizer = adam\ntrain.optimizer.lr = 0.2\n--set train.optimizer.eps=1\n--set train.optimizer.lr=0.3\n", "optimizer = adam(lr = 0.3, betas = [0.9, 0.98], eps = 1)"},
		{"before another value", "include \"b.arith\" { train.optimizer.lr = 0.2 }\ntrain.optimizer = adam\n", "optimizer = adam(lr = 0.001" + adam},
		{"in an include", "include \"b.arith\" { train.optimizer.lr = 0.2 }\n", "optimizer = adam(lr = 0.2, betas = [0.9, 0.98], eps = 0.5)"},
		{"over an include", "include \"b.arith\"\ntrain.optimizer.lr = 0.2\n", "optimizer = adam(lr = 0.2, betas = [0.9, 0.98], eps = 0.5)"},
		{"of what another attribute is by default", "task.pad = zero(7)\ntask.pad.step = 3\neval.pad.to = 61\n", "pad = zero(to = 7, step = 3, answer = none)|pad = zero(to = 61, step = 3, answer = none)"},
		{"of a choice in a call", "model.embed.position = cyclic(period = 4)\nmodel.embed.position.inner = learned\n", "position = cyclic(inner = learned, period = 4)"},
		{"of a bias of the prelude", "model.decoder.self.bias = t5(16)\n--set model.decoder.self.bias.buckets=8\n", "bias = t5(8)"},
		{"of a bias of the spec", "bias b { w = 1  c = 2  value = w * i + c * j }\nmodel.decoder.self.bias = b(3, 4)\n--set model.decoder.self.bias.c=5\n", "bias = b(3, 5)"},
		{"left out of how a parameter starts", "bias b { v = learned([H], init = uniform())  w = learned([H], init = normal())  value = v[h] * i + w[h] * j }\nmodel.decoder.self.bias = b\n",
			"init = uniform(low = 0, high = 1))|init = normal(std = 1))"},
		{"of a mask", "model.decoder.self.mask = window\nmodel.decoder.self.mask.left = 3\n", "mask = window(left = 3)"},
		{"of a parameter of the prelude", "model.decoder.self.bias = kerple\nbias.kerple.r1.min = 1\n", "r1 = learned([H], init = uniform(low = 0, high = 2), min = 1)"},
		{"of a call in a parameter", "model.decoder.self.bias = kerple\n--set bias.kerple.r1.init.high=3\n", "r1 = learned([H], init = uniform(low = 0, high = 3), min = 0)"},
		{"of a definition", "bias b { w = t5(16)  value = w }\nmodel.decoder.self.bias = b\n--set bias.b.w.max=64\n", "w = t5(16, max = 64)"},
		{"an axis", "sweep { train.optimizer.lr = [0.5, 0.25] }\n", "optimizer = adamw(lr = 0.5, betas = [0.9, 0.98], eps = 1e-9, decay = 0.01)"},
		{"an axis before that of the call", "sweep { train.optimizer.lr = [0.5, 0.25]  train.optimizer = [adam, adamw] }\n", "optimizer = adam(lr = 0.5" + adam},
		{"an axis before a case", "sweep { train.optimizer.lr = [0.5, 0.25]  opt a { train.optimizer = adam(lr = 0.3) } }\n", "optimizer = adam(lr = 0.5" + adam},
		{"on the command line, of an axis", "sweep { train.optimizer = [adam, adamw] }\n--set train.optimizer.lr=0.2\n", "optimizer = adam(lr = 0.2" + adam},
		{"on the command line, an axis", "sweep { train.optimizer.lr = [1, 0.3]  train.seed = 1..2 }\n--set sweep.train.optimizer.lr=0.2\n", "optimizer = adamw(lr = 0.2, betas = [0.9, 0.98], eps = 1e-9, decay = 0.01)"},
		{"on the command line, before another value", "sweep { train.seed = 1..2 }\n--set train.optimizer.lr=0.2\n--set train.optimizer=adam\n", "optimizer = adam(lr = 0.001" + adam},
		{"in a case", "train.optimizer = adam\nsweep { opt a { train.optimizer.lr = 0.3 }\nopt b {} }\n", "optimizer = adam(lr = 0.3" + adam},
		{"over what a case includes", "sweep { opt a { include \"b.arith\" } }\ntrain.optimizer.lr = 0.2\n", "optimizer = adam(lr = 0.2, betas = [0.9, 0.98], eps = 0.5)"},
		{"of another value of an axis", "sweep { train.optimizer.lr = [0.5, 0.25]  train.optimizer.eps = train.optimizer.lr / 2 }\n", "optimizer = adamw(lr = 0.5, betas = [0.9, 0.98], eps = 0.25, decay = 0.01)"},
		{"in a stage", "task.pad = zero(7)\ntrain.optimizer = adam\nstage a { train.optimizer.lr = 0.2  train { optimizer.eps = 1 }\ntask.pad.step = 3 }\n",
			"train.optimizer = adam(lr = 0.2, betas = [0.9, 0.98], eps = 1)|eval.pad = zero(to = 7, step = 3, answer = none)"},
	} {
		files := map[string]string{"a.arith": "arith 2\ntask successor {}\n" + c.src, "b.arith": "arith 2\ntrain.optimizer = adam(lr = 1, eps = 0.5)\n"}
		spec, list := resolve(files, "a.arith")
		if list.HasErrors() {
			t.Errorf("%s: %s", c.name, textOf(list, files))
			continue
		}
		resolved := strings.Join(strings.Fields(spec.Resolved), " ")
		for want := range strings.SplitSeq(c.want, "|") {
			if !strings.Contains(resolved, want) {
				t.Errorf("%s: %s, want %s", c.name, lineOf(spec.Resolved, strings.Fields(want)[0]), want)
			}
		}
		again, _ := resolve(map[string]string{"a.arith": spec.Resolved}, "a.arith")
		if again == nil || again.Resolved != spec.Resolved {
			t.Errorf("%s: does not resolve to itself:\n%s", c.name, spec.Resolved)
		}
	}
}

// TestAxisOfArguments: each training of a sweep gets its own argument.
func TestAxisOfArguments(t *testing.T) {
	files := map[string]string{"a.arith": "arith 2\ntask successor {}\nsweep { train.optimizer.lr = [0.5, 0.25]  train.optimizer = [adam, adamw] }\n"}
	points, list := Points(Options{Path: "a.arith", Read: reader(files)})
	if len(list) > 0 || len(points) != 4 {
		t.Fatal(points, textOf(list, files))
	}
	for n, want := range []string{"lr=0.5,optimizer=adam", "lr=0.5,optimizer=adamw", "lr=0.25,optimizer=adam", "lr=0.25,optimizer=adamw"} {
		spec, list := Resolve(Options{Path: "a.arith", Read: reader(files), Set: points[n].Set})
		if list.HasErrors() {
			t.Fatal(textOf(list, files))
		}
		lr, optimizer, _ := strings.Cut(strings.TrimPrefix(want, "lr="), ",optimizer=")
		if points[n].Name != want || !strings.HasPrefix(lineOf(spec.Resolved, "optimizer"), "optimizer = "+optimizer+"(lr = "+lr+",") {
			t.Errorf("training %s, want %s: %s", points[n].Name, want, lineOf(spec.Resolved, "optimizer"))
		}
	}
}
