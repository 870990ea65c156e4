package dsl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDescribe checks the text for rows of all kinds.
func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		row             Row
		takes, defaults string
	}{
		{Row{Type: Int, Min: 1, Max: 1 << 40, Default: "1k"}, "a whole number between 1 and 2^40", "1k"},
		{Row{Type: Real, Min: -1e9, Max: 0.5, Default: "none", Words: "none auto"}, "a number between -1e9 and 0.5, or none, or auto", "none"},
		{Row{Type: Fraction, Max: 0.99, Default: "=model.dropout"}, "a share (10%) between 0% and 99%", "as model.dropout"},
		{Row{Type: Choice, Choices: []Option{{Name: "a"}, {Name: "b"}}, Default: "a", Unless: "x.y"}, "one of a, b", "a unless x.y is set"},
		{Row{Type: Budget, Max: 1e18}, "an amount with its unit (1000steps or 30m)", "must be given"},
		{Row{Type: Text, Kinds: "file"}, "a text in quotes", ""},
	} {
		if got := c.row.Takes(); got != c.takes {
			t.Errorf("takes %q, want %q", got, c.takes)
		}
		if got := c.row.DefaultWords(); got != c.defaults {
			t.Errorf("the default is %q, want %q", got, c.defaults)
		}
	}
	for _, r := range NewSchema().Rows {
		if strings.HasPrefix(r.Takes(), " ") || r.Takes() == "" {
			t.Errorf("%s has a type without words", r.Path)
		}
	}
}

// TestGrammar: productions have the names that the reference uses.
func TestGrammar(t *testing.T) {
	text := Grammar()
	for _, line := range []string{`Path = Ident ("." Ident)* .`, `Entry = (("include" Include) | (Path (("=" Expr) | Block))) .`} {
		if !strings.Contains(text+"\n", line+"\n") {
			t.Errorf("no %s in:\n%s", line, text)
		}
	}
}

// TestTokens splits valid and invalid text.
func TestTokens(t *testing.T) {
	src := "a.b = 1e3k // c\n\"d\\\"e\" ü == \"open"
	want := []Token{{IdentToken, "a", 0}, {OpToken, ".", 1}, {IdentToken, "b", 2}, {OpToken, "=", 4}, {NumberToken, "1e3k", 6},
		{CommentToken, "// c", 11}, {StringToken, `"d\"e"`, 16}, {StrayToken, "ü", 23}, {OpToken, "==", 26}, {StrayToken, `"`, 29}, {IdentToken, "open", 30}}
	if diff := cmp.Diff(want, Tokens(src)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
