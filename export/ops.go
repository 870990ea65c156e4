package export

import "github.com/arithlang/mlc/compiler/ir"

// An opRow has the printers of an op of the tensor IR.
type opRow struct {
	python func(p *python, v *ir.Value, args []text) text
	onnx   func(g *graph, v *ir.Value, args []tensor) tensor
}

// rows is the table of the ops in forward passes. Other ops belong to training, to decoding
// with caches, or only to expansions.
func rows() map[ir.Op]opRow {
	return map[ir.Op]opRow{
		ir.Map:         {(*python).mapped, (*graph).mapped},
		ir.MatMul:      {(*python).matmul, (*graph).matmul},
		ir.Gather:      {(*python).gather, (*graph).gather},
		ir.LayerNorm:   {(*python).layernorm, (*graph).layernorm},
		ir.RMSNorm:     {(*python).rmsnorm, (*graph).rmsnorm},
		ir.Rotate:      {(*python).rotate, (*graph).rotate},
		ir.RepeatHeads: {(*python).repeatHeads, (*graph).repeatHeads},
		ir.HeadProduct: {(*python).headProduct, (*graph).headProduct},
		ir.BiasTable:   {(*python).biasTable, (*graph).biasTable},
		ir.Attention:   {(*python).attention, (*graph).attention},
		ir.Runs:        {(*python).runs, (*graph).runs},
		ir.Noise:       {(*python).noise, (*graph).noise},
	}
}
