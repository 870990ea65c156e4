package export

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/opt"
)

// givenBody computes an attention with a given bias. A query whose bias is -Inf for all keys sees
// none, as one whose mask is closed.
const givenBody = `    table = parameters["table"]
    unseeing = (table == float("-inf")).all(-1, keepdim=True)
    y = attend(%s, table.masked_fill(unseeing, 0.0)).reshape(query.shape)
    return y.masked_fill(unseeing.transpose(-3, -2), 0.0)
`

// Attention returns a Python module that computes an attention alone in PyTorch operations:
//
//	forward(query, key, value, parameters) -> [B, T, H, D]
//
// for queries [B, T, H, D], keys and values [B, S, Hk, D], and a dict of the parameters by name, where a
// given bias [H, T, S] or [B, H, T, S] is "table".
func Attention(a *check.Attention) ([]byte, error) {
	f, err := model.AloneFunc(a)
	if err != nil {
		return nil, err
	}
	f = opt.DCE(opt.CSE(opt.Simplify(f)))
	if err := ir.Verify(f); err != nil {
		return nil, err
	}
	prelude, err := templates.ReadFile("template/prelude_torch.py")
	if err != nil {
		return nil, err
	}
	all := definitions(string(prelude))
	p := newPython(all)
	sig := p.print(f)
	if p.err != nil {
		return nil, p.err
	}
	args := "query.flatten(2), key.flatten(2), value.flatten(2)"
	if sig.weights {
		args = "parameters, " + args
	}
	body := fmt.Sprintf("    return attend(%s).reshape(query.shape)\n", args)
	if a.Given {
		body = fmt.Sprintf(givenBody, args)
	}
	text := p.out.String()
	var b bytes.Buffer
	fmt.Fprintf(&b, "\"\"\"The attention of %s in PyTorch operations.\"\"\"\n\n", a.Name)
	for _, module := range []string{"math", "torch"} {
		if strings.Contains(chosen(all, text)+text, module+".") {
			fmt.Fprintf(&b, "import %s\n", module)
		}
	}
	fmt.Fprintf(&b, "\n\n%s%s", chosen(all, text), text)
	fmt.Fprintf(&b, `

def forward(query, key, value, parameters):
    """query [B, T, %d, %d], key and value [B, S, %d, %d], parameters by name -> [B, T, %d, %d]"""
%s`, a.Heads, a.Width, a.KeyHeads, a.Width, a.Heads, a.Width, body)
	return b.Bytes(), nil
}
