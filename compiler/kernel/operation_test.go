package kernel

import (
	"path/filepath"
	"testing"
)

// TestOperationErrors has one mistake a case, which Parse or Verify reports.
func TestOperationErrors(t *testing.T) {
	archive(t, filepath.Join("testdata", "errors", "operation.txtar"), func(t *testing.T, in string) string {
		ks, err := Parse(in)
		if err == nil {
			err = Verify(ks[0])
		}
		if err == nil {
			t.Fatal("no error")
		}
		return err.Error() + "\n"
	})
}

// TestRoles finds arguments and results by role.
func TestRoles(t *testing.T) {
	o := Operation{
		Kind:    "attention_grad",
		Results: []Result{{}, {Name: "dk"}},
		Args:    []Argument{{Name: "q"}, {Name: "k"}, {Name: "v"}, {Name: "g"}, {Name: "largest"}, {Name: "norm"}, {Name: "y"}, {}, {Name: "bias"}},
	}
	if r := o.Result("k").Name; r != "dk" {
		t.Errorf("the gradient of k is %q", r)
	}
	for _, role := range []string{"q", "v", "table", "elsewhere"} {
		if r := o.Result(role).Name; r != "" {
			t.Errorf("the result %s is %q", role, r)
		}
	}
	for role, want := range map[string]string{"q": "q", "dout": "g", "relative": "", "table": "bias", "x": ""} {
		if a := o.Arg(role).Name; a != want {
			t.Errorf("argument %s is %q, want %q", role, a, want)
		}
	}
	o.SetResult("table", Result{Name: "dbias"})
	if r := o.Result("table").Name; r != "dbias" || len(o.Results) != 5 {
		t.Errorf("results %v", o.Results)
	}
	if o.Product() || o.Known() || o.Family() != "attention" || o.Size("r") != nil {
		t.Errorf("%+v", o)
	}
}
