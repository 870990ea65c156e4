package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/results"
)

func TestComplete(t *testing.T) {
	var v verbs
	parser, err := kong.New(&v, kong.Vars{"version": "", "starters": build.StarterNames(), "kinds": results.PlotKinds(), "orders": results.OrderNames()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, want string }{
		{"", "init train eval solve runs label serve report plot fmt vet explain lsp build export attention mlflow tensorboard bench diff ptx prove help version info completion"},
		{"b", "build bench"},
		{"--js", "--json"},
		{"--color ", "auto always never"},
		{"--color=n", "--color=never"},
		{"--color = n", "never"},
		{"--color = ", "auto always never"},
		{"-v bu", "build"},
		{"--color always bu", "build"},
		{"build --wa", "--watch"},
		{"build x.arith --du", "--dump"},
		{"build --dump re", "resolved"},
		{"explain x.arith --stage=k", "--stage=kernel"},
		{"explain x.arith --func ", ""},
		{"init --from w", "window"},
		{"diff x.arith --device ", "cpu cuda sim ref"},
		{"completion ", "bash zsh fish"},
		{"ptx ", "check run"},
		{"help tr", "train"},
		{"--color always help ptx ", "check run"},
		{"help completion ", "bash zsh fish"},
		{"train x.arith --l", "--launcher"},
		{"train x.arith --set a=1 --launcher ", "slurm print kubernetes"},
		{"train --launcher=s", "--launcher=slurm"},
		{"ptx run --order r", "round-robin reversed random"},
		{"ptx run x.ptx --ke", "--kernel"},
		{"build x", ""},
		{"build --out build --ch", "--check"},
	} {
		if got := complete(parser.Model.Node, strings.Split(c.words, " ")); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}
