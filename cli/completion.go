package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/look"
	"github.com/arithlang/mlc/cli/shell"
)

// completionCmd is the verb completion.
type completionCmd struct {
	Shell string `arg:"" name:"SHELL" help:"The shell." enum:"bash,zsh,fish"`
}

// Help is printed below the usage.
func (completionCmd) Help() string {
	return `Examples:
  source <(mlc completion bash)          in ~/.bashrc
  source <(mlc completion zsh)           in ~/.zshrc, after compinit
  mlc completion fish | source           in ~/.config/fish/config.fish`
}

// completionScripts pass the words of a command line, up to the incomplete one, to mlc
// complete. If that prints nothing, the shell completes file names.
var completionScripts = map[string]string{
	"bash": `_mlc() {
  local IFS=$'\n'
  COMPREPLY=($(mlc complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mlc mlc
`,
	"zsh": `_mlc() {
  local -a found
  found=("${(@f)$(mlc complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then compadd -a found; else _files; fi
}
compdef _mlc mlc
`,
	"fish": `complete -c mlc -a '(mlc complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

// Run prints the script of a shell.
func (c *completionCmd) Run(sh *shell.Shell) error {
	_, err := io.WriteString(sh.Out, completionScripts[c.Shell])
	return err
}

// completeCmd is the verb that the scripts call.
type completeCmd struct {
	Words []string `arg:"" optional:"" help:"Words after mlc; the last may be incomplete."`
}

// Run prints the completions of the last word, one a line.
func (c *completeCmd) Run(sh *shell.Shell, parsed *kong.Context) error {
	for _, w := range complete(parsed.Model.Node, c.Words) {
		if _, err := io.WriteString(sh.Out, w+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// complete lists the completions of the last word: verbs, flags, or the values of a flag or
// argument that has a fixed set of them.
func complete(root *kong.Node, words []string) []string {
	words = joinEquals(words)
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	verb, flags := root, root.Flags
	var open *kong.Flag // waits for its value
	for _, w := range before {
		f := findFlag(flags, w)
		switch {
		case open != nil:
			open = nil
		case f != nil && !f.IsBool() && !strings.Contains(w, "="):
			open = f
		case !strings.HasPrefix(w, "-"):
			if i := slices.IndexFunc(verb.Children, func(n *kong.Node) bool { return n.Name == w }); i >= 0 && w != "help" { // help is followed by the same verbs
				verb = verb.Children[i]
				flags = slices.Concat(flags, verb.Flags)
			}
		}
	}
	name, value, hasValue := strings.Cut(last, "=")
	switch {
	case open != nil:
		return matching(valuesOf(open.Value), "", last)
	case hasValue && findFlag(flags, name) != nil:
		return matching(valuesOf(findFlag(flags, name).Value), name+"=", value)
	case strings.HasPrefix(last, "-"):
		return matching(flagNames(flags), "", last)
	case len(verb.Children) > 0:
		return matching(verbNames(verb), "", last)
	case len(verb.Positional) > 0:
		return matching(valuesOf(verb.Positional[0]), "", last)
	}
	return nil
}

// joinEquals joins words that bash has split at an equal sign. bash wants only the value
// completed, so the value stands alone.
func joinEquals(words []string) []string {
	var out []string
	for i, w := range words {
		switch {
		case w == "=" && i == len(words)-1:
			out = append(out, "")
		case w == "=":
		default:
			out = append(out, w)
		}
	}
	return out
}

func findFlag(flags []*kong.Flag, word string) *kong.Flag {
	word, _, _ = strings.Cut(word, "=")
	for _, f := range flags {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// valuesOf lists the values of a flag or argument that has a fixed set of them.
func valuesOf(v *kong.Value) []string {
	switch {
	case v.Enum != "":
		return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
	case v.Name == "stage" || v.Name == "dump":
		return look.StageNames()
	}
	return nil
}

func flagNames(flags []*kong.Flag) []string {
	names := []string{"--help"}
	for _, f := range flags {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func verbNames(root *kong.Node) []string {
	var names []string
	for _, n := range root.Children {
		if !n.Hidden {
			names = append(names, n.Name)
		}
	}
	return names
}

// matching lists the words with a prefix, each after lead.
func matching(words []string, lead, prefix string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			out = append(out, lead+w)
		}
	}
	return out
}
