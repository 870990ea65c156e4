package dsl

import "slices"

// leastEps keeps divisors from being 0. Smaller numbers, or their squares, vanish in
// float32.
const leastEps = 1e-30

func modelRows() []Row {
	return slices.Concat(widthRows(), embedRows(), decoderOnlyRows(), siteRows("model.decoder_only.self"),
		stackRows("model.encoder", 0, "0", "layers; 0 is the identity"), siteRows("model.encoder.self"),
		stackRows("model.decoder", 1, "2", "layers"), siteRows("model.decoder.self"), siteRows("model.decoder.cross"))
}

func widthRows() []Row {
	return []Row{
		{Path: "model.width", Type: Int, Default: "64", Min: 2, Max: 1 << 16, Doc: "length of a token's vector"},
		{Path: "model.heads", Type: Int, Default: "4", Min: 1, Max: 1 << 10, Doc: "attention heads; must divide width unless model.head_width is set"},
		{Path: "model.head_width", Type: Int, Default: "auto", Later: true, Words: "auto", Min: 1, Max: 1 << 16, Doc: "units of a head; auto: width / heads"},
		{Path: "model.ffn", Type: Choice, Default: "relu", Doc: "feed-forward sublayer", Choices: append([]Option{
			{Name: "relu", Args: append(hidden("hidden units"), rank("the matrices"), initRow(), outRow(Option{Name: "in", Doc: "matrix into the hidden units"}))},
			{Name: "gelu", Args: append(hidden("hidden units"), rank("the matrices"), initRow(), outRow(Option{Name: "in", Doc: "matrix into the hidden units"}))},
		}, gated(rank("the matrices"), initRow(), outRow(Option{Name: "value", Doc: "matrix of the value"}, Option{Name: "gate", Doc: "matrix of the gate"}), gateRow())...)},
		{Path: "model.norm", Type: Choice, Default: "layernorm", Doc: "normalization", Choices: []Option{
			{Name: "layernorm", Args: append(normArgs("1e-5"), gains(), normedPlaces())},
			{Name: "rmsnorm", Args: append(normArgs("1e-6"), gains(), normedPlaces())},
		}},
		{Path: "model.dropout", Type: Fraction, Default: "0%", Max: 0.99, Usual: Span{0, 0.7}, Doc: "share of activations that dropout zeroes"},
		{Path: "model.bias", Type: Bool, Default: "true", Doc: "linear layers have biases"},
		{Path: "model.head", Type: Choice, Default: "none", Doc: "layer before the output, without residual", Choices: append([]Option{
			{Name: "none"},
		}, gated()...)},
		{Path: "model.output", Type: Choice, Default: "linear", Doc: "projection from vectors to logits", Choices: []Option{
			{Name: "linear", Args: []Row{
				{Path: "adapter", Type: Bool, Default: "false", Doc: "one more linear layer"},
				{Path: "tied", Type: Bool, Default: "false", Doc: "the token embedding is the output matrix"},
				rank("the output matrix"),
				{Path: "value", Type: Table, Default: "none", Later: true, Words: "none", Doc: "the output matrix as an expression, a row for each token"},
			}},
		}},
		{Path: "model.init", Type: Choice, Default: "xavier", Doc: "initialization of weights", Choices: []Option{
			{Name: "xavier", Doc: "uniform by fan-in and fan-out (Glorot & Bengio 2010)", Args: []Row{
				{Path: "biases", Type: Choice, Default: "zero", Doc: "initialization of linear layers' biases", Choices: []Option{
					{Name: "zero"},
					{Name: "uniform", Doc: "between -1 and 1, divided by the square root of fan-in, but 0 in attention: PyTorch's default, as in the released code of Duan & Shi 2023"}}}}},
			{Name: "deepnorm", Doc: "normal, with gains that decrease with depth (Wang et al. 2022)"},
			{Name: "normal", Args: []Row{
				{Path: "std", Type: Real, Default: "0.02", Above: true, Max: 1e3, Usual: Span{1e-4, 1}, Doc: "standard deviation"}}},
		}},
	}
}

func hidden(doc string) []Row {
	return []Row{{Path: "hidden", Type: Int, Default: "4 * width", Min: 1, Max: 1 << 20, Doc: doc}}
}

// gated returns the gated layers. Their hidden units are counted before the gate, which
// halves them, so the number is even.
func gated(more ...Row) []Option {
	units := append(hidden("units before the gate, which halves them"), more...)
	return []Option{
		{Name: "geglu", Args: units, Doc: "gated by GELU (Shazeer 2020)"},
		{Name: "swiglu", Args: units, Doc: "gated by SiLU (Shazeer 2020)"},
	}
}

// rank is the argument that replaces a matrix by a product of two narrow ones.
func rank(of string) Row {
	return Row{Path: "rank", Type: Int, Default: "none", Later: true, Words: "none", Min: 1, Max: 1 << 16, Doc: "rank of " + of + ", each a product of two; none: full"}
}

// initRow is the argument for the initial values of some matrices.
func initRow() Row {
	return Row{Path: "init", Type: Any, Default: "auto", Later: true, Doc: "initial values of the matrices: a number, uniform(low, high) or normal(std); auto: as model.init"}
}

// outRow is the argument for the matrix out of the hidden units, and gateRow for the
// matrix of the gate.
func outRow(of ...Option) Row {
	return Row{Path: "out", Type: Choice, Default: "own", Later: true, Doc: "matrix out of the hidden units", Choices: []Option{
		{Name: "own"},
		{Name: "transposed", Doc: "another matrix, transposed", Args: []Row{{Path: "of", Type: Choice, Choices: of, Doc: "which one"}}}}}
}

func gateRow() Row {
	return Row{Path: "gate", Type: Choice, Default: "own", Later: true, Doc: "matrix of the gate", Choices: []Option{
		{Name: "own"},
		{Name: "value", Doc: "matrix of the value"}}}
}

// gains is the argument for the gains and offsets of norms.
func gains() Row {
	return Row{Path: "gain", Type: Choice, Default: "own", Later: true, Doc: "learned gains, and offsets of layer norms", Choices: []Option{
		{Name: "own", Doc: "each norm has its own"},
		{Name: "shared", Doc: "all norms share them"},
		{Name: "none", Doc: "no norm has them"}}}
}

// normedPlaces is the argument for the parts of a model that have a norm.
func normedPlaces() Row {
	return Row{Path: "at", Type: Names, Default: "[self, cross, ffn, output]", Later: true, Doc: "parts that have a norm", Choices: []Option{
		{Name: "self", Doc: "self attention"},
		{Name: "cross", Doc: "cross attention"},
		{Name: "ffn", Doc: "the feed-forward sublayer"},
		{Name: "output", Doc: "before the output, and after an encoder"}}}
}

func normArgs(eps string) []Row {
	return []Row{
		{Path: "eps", Type: Real, Default: eps, Min: leastEps, Max: 1, Usual: Span{leastEps, 1e-2}, Doc: "added to the variance"},
		{Path: "place", Type: Choice, Default: "post", Doc: "place of the norms", Choices: []Option{
			{Name: "post", Doc: "after the residual addition"},
			{Name: "pre", Doc: "before each sublayer"},
		}},
	}
}

func embedRows() []Row {
	return []Row{
		{Path: "model.embed.token", Type: Choice, Default: "learned", Doc: "token embedding", Choices: []Option{
			{Name: "learned", Args: []Row{
				{Path: "scale", Type: Real, Default: "sqrt(width)", Above: true, Max: 1e9, Usual: Span{1e-3, 1e3}, Doc: "factor on the embedding"},
				valueRow()}},
		}},
		{Path: "model.embed.position", Type: Choice, Default: "none", Doc: "position scheme", Choices: positions()},
		{Path: "model.embed.norm", Type: Choice, Default: "none", Doc: "normalization of the embedding", Choices: []Option{
			{Name: "none"},
			{Name: "layernorm", Args: normArgs("1e-5")[:1]},
			{Name: "rmsnorm", Args: normArgs("1e-6")[:1]},
		}},
	}
}

func positions() []Option {
	return []Option{
		{Name: "none", Doc: "no positions: tokens are a set, except for masks"},
		{Name: "learned", Doc: "a learned vector per position", Args: []Row{
			{Path: "max", Type: Int, Default: "512", Min: 1, Max: 1 << 20, Doc: "rows of the table"},
			valueRow()}},
		{Name: "sinusoidal", Doc: "Vaswani et al. 2017"},
		{Name: "cyclic", Doc: "positions modulo a period (Duan & Shi 2023)", Args: []Row{
			{Path: "inner", Type: Choice, Default: "sinusoidal", Choices: []Option{{Name: "sinusoidal"}, {Name: "learned"}}, Doc: "embedding of these positions"},
			{Path: "period", Type: Int, Default: "3", Min: 2, Max: 1 << 16, Doc: "number of distinct positions"},
		}},
		{Name: "abacus", Doc: "positions within each number, from a start shared by the microbatch (McLeish et al. 2024)", Args: placesInNumbers("the first is for all tokens but digits")},
		{Name: "coupling", Doc: "positions within each number, from each example's own start; an operator, too, has a digit's position (Cho et al. 2024)", Args: placesInNumbers("in tests, the first is for all tokens but digits")},
		{Name: "random", Doc: "in training an ordered random subset of positions, as many as the longest problem has tokens; each problem takes the first ones; in tests 0, 1, 2, … (Ruoss et al. 2023)", Args: []Row{
			{Path: "inner", Type: Choice, Default: "sinusoidal", Doc: "embedding of these positions; none leaves them to biases, as pi and pj",
				Choices: []Option{{Name: "none"}, {Name: "sinusoidal"}, {Name: "learned"}}},
			{Path: "max", Type: Int, Default: "2048", Min: 1, Max: 1 << 20, Doc: "positions to choose from"},
		}},
		{Name: "shifted", Doc: "in training, each example begins at a random position, its source at another; in tests, both at 0; masks, biases and rotary embeddings use token indices (Kiyono et al. 2021)", Args: []Row{
			{Path: "inner", Type: Choice, Default: "sinusoidal", Choices: []Option{{Name: "sinusoidal"}, {Name: "learned"}}, Doc: "embedding of these positions"},
			maxOffset(),
			{Path: "max", Type: Int, Default: "512", Min: 1, Max: 1 << 20, Doc: "positions, including the largest offset"},
		}},
	}
}

func maxOffset() Row {
	return Row{Path: "max_offset", Type: Int, Default: "100", Max: 1 << 20, Doc: "largest random offset in training; none in tests"}
}

func placesInNumbers(first string) []Row {
	return []Row{
		maxOffset(),
		{Path: "table", Type: Int, Default: "512", Min: 1, Max: 1 << 20, Doc: "rows of the table; " + first},
		{Path: "learned", Type: Bool, Default: "true", Doc: "train the rows; otherwise they keep their random values"},
		valueRow(),
	}
}

// valueRow is the argument for a table's expression.
func valueRow() Row {
	return Row{Path: "value", Type: Table, Default: "none", Later: true, Words: "none", Doc: "the table as an expression, such as the name of a table block; none: each element is learned"}
}

func decoderOnlyRows() []Row {
	return []Row{
		{Path: "model.decoder_only.layers", Type: Int, Default: "2", Min: 1, Max: 1 << 10, Doc: "layers"},
		{Path: "model.decoder_only.times", Type: Recurrences, Default: "1", Words: "digits operands prompt", Min: 1, Max: 1 << 10,
			Doc: "number of recurrences of the stack; a sum with multiples of digits (of the longest operand), operands (or entries) and prompt (tokens up to the =), as digits + 1, gives each problem its own, in training and tests"},
		shareRow("model.decoder_only"),
		{Path: "model.decoder_only.inject", Type: Choice, Default: "none", Doc: "input injection: where the embedded input is added again", Choices: []Option{
			{Name: "none", Doc: "nowhere"},
			{Name: "add", Args: []Row{{Path: "before", Type: Choice, Default: "block", Doc: "places of injection", Choices: []Option{
				{Name: "block", Doc: "once per recurrence, before the first layer"},
				{Name: "every_layer", Doc: "before every layer"}}}}},
		}},
		{Path: "model.decoder_only.state", Type: Choice, Default: "embed", Doc: "initial state of the loop", Choices: []Option{
			{Name: "embed", Doc: "the embedded input"},
			{Name: "normal", Doc: "noise, drawn for every pass, in tests too", Args: []Row{
				{Path: "std", Type: Real, Default: "0.02", Max: 1e3, Doc: "standard deviation; 0 starts from zeros"}}},
		}},
	}
}

func stackRows(block string, least float64, layers, doc string) []Row {
	return []Row{
		{Path: block + ".layers", Type: Int, Default: layers, Min: least, Max: 1 << 10, Doc: doc},
		{Path: block + ".times", Type: Int, Default: "1", Min: 1, Max: 1 << 10, Doc: "number of recurrences of the stack"},
		shareRow(block),
	}
}

// shareRow is the attribute for the parameters that layers of a stack share.
func shareRow(block string) Row {
	group := []Row{{Path: "group", Type: Int, Default: "all", Words: "all", Min: 2, Max: 1 << 10, Doc: "number of consecutive layers that share; all: every layer"}}
	return Row{Path: block + ".share", Type: Choice, Default: "none", Later: true, Doc: "parameters that layers share (Lan et al. 2020)", Choices: []Option{
		{Name: "none", Doc: "nothing"},
		{Name: "all", Args: group, Doc: "all parameters"},
		{Name: "attention", Args: group, Doc: "parameters of attention and its biases, but not of norms before or after it"},
		{Name: "ffn", Args: group, Doc: "parameters of the feed-forward sublayer, but not of its norm"},
	}}
}

func siteRows(site string) []Row {
	return []Row{
		{Path: site + ".mask", Type: Condition, Default: "true", Doc: "which keys a query sees"},
		{Path: site + ".bias", Type: Bias, Default: "none", Words: "none", Doc: "attention bias, added to the scores"},
		{Path: site + ".rotary", Type: Choice, Default: "none", Doc: "rotary embedding (Su et al. 2021)", Choices: []Option{
			{Name: "none"},
			{Name: "rope", Args: []Row{
				{Path: "base", Type: Real, Default: "10000", Min: 1, Above: true, Max: 1e9, Doc: "base of the wavelengths"},
				{Path: "fraction", Type: Fraction, Default: "100%", Above: true, Max: 1, Doc: "share that is rotated"},
				{Path: "of", Type: Choice, Default: "heads", Doc: "rotated vectors", Choices: []Option{
					{Name: "heads", Doc: "queries and keys, per head: scores depend on distances"},
					{Name: "input", Doc: "the input of the query and key projections, as a whole, as in the released code of Duan & Shi 2023: scores do not depend on distances"}}},
			}},
		}},
		{Path: site + ".relative", Type: Choice, Default: "none", Doc: "relative positions: queries also have products with a learned vector per distance", Choices: []Option{
			{Name: "none"},
			{Name: "shaw", Args: []Row{
				{Path: "clip", Type: Int, Default: "16", Min: 1, Max: 1 << 12, Doc: "all distances beyond it share a vector"},
			}, Doc: "one table per layer, for keys only (Shaw et al. 2018, equation 4)"},
		}},
		{Path: site + ".key_heads", Type: Int, Default: "auto", Words: "auto", Later: true, Min: 1, Max: 1 << 10,
			Doc: "heads of keys and values, each for heads / key_heads consecutive heads of queries (Ainslie et al. 2023; 1: Shazeer 2019); must divide model.heads; auto: model.heads"},
		{Path: site + ".q", Type: Weight, Default: "own", Words: "none scalar own", Later: true, Doc: "query projection"},
		{Path: site + ".k", Type: Weight, Default: "own", Words: "none scalar own", Later: true, Doc: "key projection; without it and the query projection, scores depend only on mask and bias"},
		{Path: site + ".v", Type: Weight, Default: "own", Words: "none scalar own", Later: true, Doc: "value projection"},
		{Path: site + ".o", Type: Weight, Default: "own", Words: "none scalar own", Later: true, Doc: "output projection"},
		{Path: site + ".qk_norm", Type: Choice, Default: "none", Later: true, Doc: "normalization of each head of queries and of keys, before rotary embedding (Henry et al. 2020)", Choices: []Option{
			{Name: "none"},
			{Name: "rmsnorm", Args: []Row{normArgs("1e-6")[0],
				{Path: "gain", Type: Choice, Default: "own", Doc: "learned gains", Choices: []Option{
					{Name: "own", Doc: "queries and keys have separate gains"},
					{Name: "shared", Doc: "queries and keys share them"},
					{Name: "none"}}}}},
		}},
		{Path: site + ".scale", Type: Real, Default: "1 / sqrt(width / heads)", Unless: "model.head_width", Min: 0, Max: 1e9, Usual: Span{1e-4, 1e3}, Doc: "factor on the scores; with model.head_width 1 / sqrt(head_width)"},
		{Path: site + ".dropout", Type: Fraction, Default: "=model.dropout", Max: 0.99, Usual: Span{0, 0.7}, Doc: "share of attention weights that dropout zeroes"},
	}
}
