package kernel

// families has the family of each kind: a tensor op that anchors a kernel, or "row" for other
// kernels that go row by row.
var families = map[string]string{
	"map": "map", "append": "map", "rotate": "map", "repeat_heads": "map", "sum_heads": "map",
	"row": "row", "layernorm": "row", "layernorm_grad": "row", "rmsnorm": "row", "rmsnorm_grad": "row",
	"cross_entropy": "row", "cross_entropy_grad": "row", "argmax": "row", "sum": "row", "reshape": "row", "segment_sum": "row",
	"runs": "row", "subset": "row",
	"matmul": "matmul", "head_product": "matmul", "outer": "matmul", "head_outer": "matmul",
	"gather": "gather", "scatter": "scatter",
	"attention": "attention", "attention_grad": "attention", "attention_weights": "attention",
	"bias_table": "attention", "bias_table_grad": "attention",
}

// Family returns the family of the kernel's kind: map, row, matmul, attention, gather or scatter.
func (k *Kernel) Family() string { return families[k.Kind] }
