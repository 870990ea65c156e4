package model

import (
	"math"

	"github.com/arithlang/mlc/compiler/plan"
)

// The initializations of matrices, as specs name them.
const (
	xavier   = "xavier"   // uniform: Glorot and Bengio 2010, section 4.2.1
	deepnorm = "deepnorm" // normal: Wang et al. 2022 (arXiv:2203.00555), figure 2
	normal   = "normal"   // with the standard deviation InitStd
)

// initial returns the initialization of a matrix [in, out]. Only deepnorm uses the gain.
func (m *builder) initial(in, out int, gain float64) plan.Init {
	fan := float64(in + out)
	switch m.spec.Model.Init {
	case deepnorm:
		return plan.Init{Kind: "normal", A: gain * math.Sqrt(2/fan)}
	case normal:
		return plan.Init{Kind: "normal", A: m.spec.Model.InitStd}
	}
	a := math.Sqrt(6 / fan)
	return plan.Init{Kind: "uniform", A: -a, B: a}
}

// initialBias returns the initialization of the biases of a linear layer with in inputs,
// outside of attention: 0, or PyTorch's torch.nn.Linear.
func (m *builder) initialBias(in int) plan.Init {
	if !m.spec.Model.InitBiases {
		return plan.Init{Kind: "const"}
	}
	a := 1 / math.Sqrt(float64(in))
	return plan.Init{Kind: "uniform", A: -a, B: a}
}

// deepDecoder returns deepnorm's gain in a decoder-only model in which a row passes the
// given number of layers.
func deepDecoder(layers int) float64 { return 1 / root(8*float64(layers), 2) }

// deepEncoderDecoder returns deepnorm's gains in an encoder and in its decoder.
func deepEncoderDecoder(encoder, decoder int) (inner, outer float64) {
	n, m := float64(encoder), float64(decoder)
	return 0.87 / root(n*n*n*n*m, 4), 1 / root(12*m, 2)
}

// root returns the square root of x, taken the given number of times. Unlike powers it
// has the same bits on every processor.
func root(x float64, times int) float64 {
	for range times {
		x = math.Sqrt(x)
	}
	return x
}
