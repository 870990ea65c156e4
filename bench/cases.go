package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
)

// cases are the models that are timed: all that a processor can run.
var cases = slices.DeleteFunc(peers.Cases(), func(c peers.Case) bool { return c.GPU })

func caseNames() string {
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// A peer is another library's way to run the models.
type peer struct {
	Name    string // as peer.py spells it
	Title   string // with the library's version
	Missing string // why it is left out; "" if it runs
}

// libraries are the peers and the modules that they need.
var libraries = []struct{ name, module, title string }{
	{"eager", "torch", "PyTorch %s eager"},
	{"compile", "torch", "PyTorch %s torch.compile"},
	{exported, "torch", "PyTorch %s, exported by mlc"},
	{"jax", "jax", "JAX %s jit"},
}

// exported is the peer that mlc export writes. It has no dropout.
const exported = "export"

// has reports whether a peer takes part in a case.
func (p peer) has(c peers.Case) bool {
	return p.Missing == "" && (!c.Torch || p.Name == "eager" || p.Name == "compile")
}

// installed returns the peers that the command line asks for. Peers that cannot run have the
// reason in Missing.
func (o *options) installed(ctx context.Context) []peer {
	var all []peer
	for _, l := range libraries {
		if !strings.Contains(","+strings.Join(o.Peers, ",")+",", ","+l.name+",") {
			continue
		}
		p := peer{Name: l.name, Title: strings.ReplaceAll(l.title, "%s ", "")}
		version, err := peers.Version(ctx, o.Python, l.module)
		if err != nil {
			p.Missing = fmt.Sprintf("%s has no %s (pip install -r bench/peers/requirements.txt)", o.Python, l.module)
			logf("without %s: %s", p.Title, p.Missing)
		} else {
			p.Title = fmt.Sprintf(l.title, version)
		}
		all = append(all, p)
	}
	return all
}

// command returns the call of peer.py. The model's export is next to the problem file.
func (p peer) command(python, root, problem string, threads int, args ...string) []string {
	if p.Name == exported {
		args = append(args, "--exported", exportOf(problem))
	}
	return peers.OnCPU(p.Name, threads).Command(python, filepath.Join(root, "bench", "peers"), problem, args...)
}

func (p peer) contestant(python, root, problem string, threads int) rounds.Contestant {
	return rounds.Contestant{Title: p.Title, Start: rounds.Process(p.command(python, root, problem, threads)...)}
}

// exportOf returns the file of the export for a problem file.
func exportOf(problem string) string { return strings.TrimSuffix(problem, ".json") + ".py" }
