package look

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/track"
)

// attentionSummary has the sizes of attention alone.
type attentionSummary struct {
	Name     string            `json:"name"`
	Source   string            `json:"source"`
	Hash     string            `json:"spec_hash"`
	Heads    int               `json:"heads"`
	KeyHeads int               `json:"key_heads"`
	Width    int               `json:"width"`
	Scale    float64           `json:"scale"`
	Mask     string            `json:"mask"`
	Bias     string            `json:"bias"`
	Params   int               `json:"params"` // learned elements of the bias
	Tensors  []attentionTensor `json:"parameters"`
}

// attentionTensor is a parameter of a bias.
type attentionTensor struct {
	Name    string `json:"name"`
	Shape   []int  `json:"shape"`
	Learned bool   `json:"learned"` // else it is from a file
}

// elements returns the number of elements.
func (t *attentionTensor) elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// aloneStages are the stages of attention alone besides resolved. Each has the kernels for float32,
// then those for bfloat16.
var aloneStages = []string{"fused", "kernel", "flat", "schedule", "plan", trafficStage}

// CheckAloneStage returns a shell.UsageError if attention alone has no such stage.
func CheckAloneStage(stage string) error {
	if slices.Contains(aloneStages, stage) {
		return nil
	}
	return shell.Usagef("attention alone has no stage %s: its stages are resolved, %s; mlc attention FILE -o DIR writes its PTX", stage, strings.Join(aloneStages, ", "))
}

// ExplainAttention prints the sizes of attention alone, or its resolved form if stage is
// "resolved".
func ExplainAttention(sh *shell.Shell, s project.Source, a *check.Attention, stage string) error {
	if stage == "resolved" {
		return printText(sh, stage, a.Resolved)
	}
	sum := newAttentionSummary(s, a)
	if sh.JSON {
		return sh.PrintJSON(sum)
	}
	_, err := fmt.Fprintf(sh.Out, "%snext: %s\n", sum, shell.Hint("attention", s.Shown(s.Name), "-o", a.Name))
	return err
}

func newAttentionSummary(s project.Source, a *check.Attention) *attentionSummary {
	sum := &attentionSummary{Name: a.Name, Source: s.Name, Hash: a.Hash, Heads: a.Heads, KeyHeads: a.KeyHeads, Width: a.Width,
		Scale: a.Site.Scale, Mask: a.Mask, Bias: a.Bias, Tensors: []attentionTensor{}}
	for _, param := range a.Site.Params {
		t := attentionTensor{param.Name, param.Shape, !param.Fixed()}
		sum.Tensors = append(sum.Tensors, t)
		if t.Learned {
			sum.Params += t.elements()
		}
	}
	return sum
}

// String returns the summary for people.
func (s *attentionSummary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spec        %s, %.12s\n", s.Source, s.Hash)
	fmt.Fprintf(&b, "heads       %d of queries, %d of keys and values, of %d units\n", s.Heads, s.KeyHeads, s.Width)
	fmt.Fprintf(&b, "scale       %g\n", s.Scale)
	fmt.Fprintf(&b, "mask        %s\n", s.Mask)
	fmt.Fprintf(&b, "bias        %s\n", s.Bias)
	fmt.Fprintf(&b, "parameters  %s\n", track.Thousands(s.Params))
	for _, t := range s.Tensors {
		from := ""
		if !t.Learned {
			from = ", from a file"
		}
		fmt.Fprintf(&b, "  %-16s %s%s\n", t.Name, strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", "), from)
	}
	return b.String()
}
