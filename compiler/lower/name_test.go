package lower_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/ir/irtest"
)

// TestNames wants the names of kernels to say what they compute, forward and backward.
func TestNames(t *testing.T) {
	for _, c := range []struct{ params, body, want string }{
		{"v0 = param x input : f32[B, T, 8]\nv1 = param w weight : f32[6, 8]\nv2 = param b weight : f32[6]\nv3 = param r input : f32[B, T, 6]",
			"v4 = matmul v0 v1 {transb} : f32[B, T, 6]\nv5 = map v4 v2 {expr = x0 + x1} : f32[B, T, 6]\n" +
				"v6 = dropout v5 {rate = 0.25; stream = 3} : f32[B, T, 6]\nv9 = map v6 v3 {expr = x0 + x1} : f32[B, T, 6]",
			"linear_8x6_t_bias_dropout_add map_6 map_6_dropout sum_6_acc linear_6x8 outer_6x8_acc map_6_2"},
		{"v0 = param x input : f32[B, S, 8]", "v9 = map v0 {expr = max(x0, 0.0)} : f32[B, S, 8]", "map_8_source_relu map_8_source map_8_source_relu_2"},
		{"v0 = param x input : f32[B, T, 8]", "v1 = map v0 {expr = x0 * tanh(x0)} : f32[B, T, 8]\nv9 = map v1 {expr = sqrt(x0) + abs(x0)} : f32[B, T, 8]", "map_8_tanh_add map_8 map_8_mul_tanh"},
		{"v0 = param x input : f32[B, T, 8]\nv1 = param gamma weight : f32[8]\nv2 = param beta weight : f32[8]", "v9 = layernorm v0 v1 v2 {eps = 1e-05} : f32[B, T, 8]", "norm_8 map_8 norm_grad_8_dx sum_8_mul_acc"},
		{"v0 = param q input : f32[B, T, 8]\nv1 = param k input : f32[B, S, 8]\nv2 = param v input : f32[B, S, 8]\nv3 = param far fixed : f32[2]",
			"v9 = attention v0 v1 v2 v3 {rate = 0.25; stream = 3; heads = 2; scale = 0.5; fixed; parameters = far; bias = far[h] * f32(j); mask = j <= i && i - 2 <= j} : f32[B, T, 8]", "attention_8_source_window3_bias_dropout map_8 attention_grad_8_source_window3_bias_dropout"},
		{"v0 = param q input : f32[B, T, 8]\nv1 = param far weight : f32[7, 4]", "v9 = head_product v0 v1 {transb; heads = 2} : f32[B, T, 14]", "head_linear_14_t map_14 head_linear_8 head_outer_7x4_acc"},
		{"v0 = param r weight : f32[2]", "v9 = bias_table v0 {shape = [2, T, S]; heads = 2; parameters = r; mask = j <= i; bias = r[h] * f32(j)} : f32[2, T, S]", "bias_table_2_source map_2 bias_table_grad_2x2_source sum_2_acc"},
	} {
		var names []string
		for _, k := range calling(t, irtest.Parse(t, "func f\n"+c.params+"\n"+c.body+"\nresult y v9\nend\n"), true).Kernels {
			names = append(names, k.Name)
		}
		if d := cmp.Diff(c.want, strings.Join(names, " ")); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	}
}
