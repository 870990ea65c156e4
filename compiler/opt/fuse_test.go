package opt

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/ir"
)

const fuseText = `
func block
  v0 = param x input : f32[B, T, 8]
  v1 = param w weight : f32[8, 8]
  v2 = param b weight : f32[8]
  v3 = param gamma weight : f32[8]
  v4 = param beta weight : f32[8]
  v5 = matmul v0 v1 : f32[B, T, 8]
  v6 = map v5 v2 {expr = x0 + x1} : f32[B, T, 8]
  v7 = dropout v6 {rate = 0.5; stream = 1} : f32[B, T, 8]
  v8 = map v0 v7 {expr = x0 + x1} : f32[B, T, 8]
  v9 = layernorm v8 v3 v4 {eps = 1e-05} : f32[B, T, 8]
  v10 = map v9 {expr = x0 * x0} : f32[B, T, 8]
  v11 = sum v10 {axes = 0 1} : f32[8]
  v12 = map v11 {expr = x0 + 1.0} : f32[8]
  result y v9
  result s v12
end
`

// TestFuse checks the groups of a small function: a product with its epilogue up to the
// residual, the norm, and the square inside the sum.
func TestFuse(t *testing.T) {
	fs, err := ir.Parse(fuseText)
	if err != nil {
		t.Fatal(err)
	}
	type group struct{ anchors, members, inputs, outputs []int }
	want := []group{
		{[]int{5}, []int{6, 7, 8}, []int{0, 1, 2}, []int{8}},
		{[]int{9}, nil, []int{3, 4, 8}, []int{9}},
		{[]int{11}, []int{10}, []int{9}, []int{11}},
		{nil, []int{12}, []int{11}, []int{12}},
	}
	groups := Fuse(fs[0])
	if len(groups) != len(want) {
		t.Fatalf("%d groups, want %d", len(groups), len(want))
	}
	for i, g := range groups {
		got := group{ids(g.Anchors), ids(g.Members), ids(g.Inputs), ids(g.Outputs)}
		slices.Sort(got.inputs)
		w := want[i]
		if !slices.Equal(got.anchors, w.anchors) || !slices.Equal(got.members, w.members) ||
			!slices.Equal(got.inputs, w.inputs) || !slices.Equal(got.outputs, w.outputs) {
			t.Errorf("group %d is %v, want %v", i, got, w)
		}
	}
}

func ids(vs []*ir.Value) []int {
	var out []int
	for _, v := range vs {
		out = append(out, v.ID)
	}
	return out
}

func TestPlaceSharesOnlyWhatDoesNotMeet(t *testing.T) {
	lives := []Lifetime{
		{0, 1, "a"}, {1, 2, "a"}, {2, 3, "a"}, {2, 2, "b"}, {3, 5, "b"}, {4, 5, "a"}, {5, 5, "a"},
	}
	slots, sizes := Place(lives)
	for i, a := range lives {
		if sizes[slots[i]] != a.Size {
			t.Errorf("lifetime %d of size %s is in a slot of size %s", i, a.Size, sizes[slots[i]])
		}
		for j, b := range lives[:i] {
			if slots[i] == slots[j] && a.First <= b.Last && b.First <= a.Last {
				t.Errorf("lifetimes %d and %d meet in slot %d", j, i, slots[i])
			}
		}
	}
	if len(sizes) != 3 {
		t.Errorf("%d slots, want 3", len(sizes))
	}
}

// TestFuseSums: a sum of rows joins the kernel of another that reads the same rows and
// sums over the same axes.
func TestFuseSums(t *testing.T) {
	for axes, together := range map[string]bool{"0 1": true, "0": false} {
		shape := map[bool]string{true: "8", false: "T, 8"}[together]
		fs, err := ir.Parse(`
func f
  v0 = param x input : f32[B, T, 8]
  v1 = param dy input : f32[B, T, 8]
  v2 = param z input : f32[B, T, 8]
  v3 = map v0 v1 {expr = x0 * x1} : f32[B, T, 8]
  v4 = sum v3 {axes = 0 1} : f32[8]
  v5 = sum v1 {axes = ` + axes + `} : f32[` + shape + `]
  v6 = sum v2 {axes = 0 1} : f32[8]
  result a v4
  result b v5
  result c v6
end
`)
		if err != nil {
			t.Fatal(err)
		}
		want := [][]int{{4}, {5}, {6}}
		if together {
			want = [][]int{{4, 5}, {6}}
		}
		var got [][]int
		for _, g := range Fuse(fs[0]) {
			got = append(got, ids(g.Anchors))
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("axes %s: sums together are %v, want %v", axes, got, want)
		}
	}
}
