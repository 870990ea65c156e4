package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// A benchCase is a model that is timed.
type benchCase struct {
	Name    string
	Title   string
	Kind    string // of peers/models.py: what the spec's masks are there
	Spec    string
	Set     []string // as mlc's --set
	Kernels bool     // its kernels are listed one by one
}

// paper are the problems, batches and rate of arXiv:2310.11984.
var paper = []string{"task.pad=zero(to = 61)", "train.batch=512",
	"train.optimizer=adam(lr = 1e-4, betas = [0.9, 0.98], eps = 1e-9)", "train.schedule=constant"}

var cases = []benchCase{
	{Name: "abs", Kind: "abs", Spec: "specs/bias/addition_abs.arith", Set: append([]string{"model.dropout=30%"}, paper...), Kernels: true,
		Title: "addition with attention bias scaffolding, dropout 0.3"},
	{Name: "abs-no-dropout", Kind: "abs", Spec: "specs/bias/addition_abs.arith", Set: append([]string{"model.dropout=0%"}, paper...),
		Title: "the same without dropout"},
	{Name: "successor", Kind: "successor", Spec: "specs/successor.arith",
		Title: "the quick start"},
	{Name: "fire-40", Kind: "fire", Spec: "bench/specs/fire.arith",
		Title: "decoder with FIRE, 40 rows"},
	{Name: "fire-80", Kind: "fire", Spec: "bench/specs/fire.arith", Set: []string{"task.pad=zero(to = 79)"}, Kernels: true,
		Title: "decoder with FIRE, 80 rows"},
}

func caseNames() string {
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// A peer is a way of doing the same in another library.
type peer struct {
	Name    string // as peer.py takes it
	Title   string // with the library's version
	Missing string // why it is left out, "" if it is not
}

// libraries are the peers and the modules they need.
var libraries = []struct{ name, module, title string }{
	{"eager", "torch", "PyTorch %s eager"},
	{"compile", "torch", "PyTorch %s torch.compile"},
	{"jax", "jax", "JAX %s jit"},
}

// installed are the peers that the command line asks for, with what keeps them
// from taking part.
func (o *options) installed(ctx context.Context) []peer {
	var peers []peer
	for _, l := range libraries {
		if !strings.Contains(","+strings.Join(o.Peers, ",")+",", ","+l.name+",") {
			continue
		}
		p := peer{Name: l.name, Title: strings.ReplaceAll(l.title, "%s ", "")}
		out, err := exec.CommandContext(ctx, o.Python, "-c", "import "+l.module+" as m; print(m.__version__)").Output()
		if err != nil {
			p.Missing = fmt.Sprintf("%s has no %s (pip install -r bench/peers/requirements.txt)", o.Python, l.module)
			logf("without %s: %s", p.Title, p.Missing)
		} else {
			version, _, _ := strings.Cut(strings.TrimSpace(string(out)), "+")
			p.Title = fmt.Sprintf(l.title, version)
		}
		peers = append(peers, p)
	}
	return peers
}

// command is a call of peer.py.
func (p peer) command(python, root, problem string, threads int, args ...string) []string {
	script := filepath.Join(root, "bench", "peers", "peer.py")
	return append([]string{python, "-B", script, problem, "--peer", p.Name, "--threads", fmt.Sprint(threads)}, args...)
}

func (p peer) contestant(python, root, problem string, threads int) contestant {
	return contestant{p.Title, p.command(python, root, problem, threads)}
}
