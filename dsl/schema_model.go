package dsl

import "slices"

// leastEps keeps what is divided by from being nothing: smaller numbers, squared or
// not, are lost in float32.
const leastEps = 1e-30

func modelRows() []Row {
	return slices.Concat(widthRows(), embedRows(), loopRows(), siteRows("model.loop.self"),
		stackRows("model.encoder", 0, "0", "layers; 0 is the identity"), siteRows("model.encoder.self"),
		stackRows("model.decoder", 1, "2", "layers"), siteRows("model.decoder.self"), siteRows("model.decoder.cross"))
}

func widthRows() []Row {
	return []Row{
		{Path: "model.width", Type: Int, Default: "64", Min: 2, Max: 1 << 16, Doc: "length of the vector of a token"},
		{Path: "model.heads", Type: Int, Default: "4", Min: 1, Max: 1 << 10, Doc: "attention heads; divides width"},
		{Path: "model.ffn", Type: Choice, Default: "relu", Doc: "the feed-forward part of a layer", Choices: append([]Option{
			{Name: "relu", Args: hidden("units inside")},
			{Name: "gelu", Args: hidden("units inside")},
		}, gated()...)},
		{Path: "model.norm", Type: Choice, Default: "layernorm", Doc: "normalization", Choices: []Option{
			{Name: "layernorm", Args: normArgs("1e-5")},
			{Name: "rmsnorm", Args: normArgs("1e-6")},
		}},
		{Path: "model.dropout", Type: Fraction, Default: "0%", Max: 0.99, Usual: Span{0, 0.7}, Doc: "share of activations that is dropped"},
		{Path: "model.bias", Type: Bool, Default: "true", Doc: "linear layers have biases"},
		{Path: "model.head", Type: Choice, Default: "none", Doc: "a layer before the output, without residual", Choices: append([]Option{
			{Name: "none"},
		}, gated()...)},
		{Path: "model.output", Type: Choice, Default: "linear", Doc: "from vectors to logits", Choices: []Option{
			{Name: "linear", Args: []Row{
				{Path: "adapter", Type: Bool, Default: "false", Doc: "one more linear layer"},
				{Path: "tied", Type: Bool, Default: "false", Doc: "the token table is the output matrix"},
			}},
		}},
		{Path: "model.init", Type: Choice, Default: "xavier", Doc: "how weights start", Choices: []Option{
			{Name: "xavier", Doc: "uniform by fan-in and fan-out (Glorot & Bengio 2010)", Args: []Row{
				{Path: "biases", Type: Choice, Default: "zero", Doc: "how biases of linear layers start", Choices: []Option{
					{Name: "zero"},
					{Name: "uniform", Doc: "between -1 and 1, divided by the root of fan-in; those of attention 0 all the same: what PyTorch does where nobody asks, as in the released code of Duan & Shi 2023"}}}}},
			{Name: "deepnorm", Doc: "normal, with gains that fall with the depth (Wang et al. 2022)"},
			{Name: "normal", Args: []Row{
				{Path: "std", Type: Real, Default: "0.02", Above: true, Max: 1e3, Usual: Span{1e-4, 1}, Doc: "standard deviation"}}},
		}},
	}
}

func hidden(doc string) []Row {
	return []Row{{Path: "hidden", Type: Int, Default: "4 * width", Min: 1, Max: 1 << 20, Doc: doc}}
}

// gated are the gated layers. Their hidden units are counted before the gate, which
// halves them, so there are an even number.
func gated() []Option {
	units := hidden("units before the gate, which halves them")
	return []Option{
		{Name: "geglu", Args: units, Doc: "gated by GELU (Shazeer 2020)"},
		{Name: "swiglu", Args: units, Doc: "gated by SiLU (Shazeer 2020)"},
	}
}

func normArgs(eps string) []Row {
	return []Row{
		{Path: "eps", Type: Real, Default: eps, Min: leastEps, Max: 1, Usual: Span{leastEps, 1e-2}, Doc: "added to the variance"},
		{Path: "place", Type: Choice, Default: "post", Doc: "where norms stand", Choices: []Option{
			{Name: "post", Doc: "after the residual"},
			{Name: "pre", Doc: "before each part of a layer"},
		}},
	}
}

func embedRows() []Row {
	return []Row{
		{Path: "model.embed.token", Type: Choice, Default: "learned", Doc: "token embedding", Choices: []Option{
			{Name: "learned", Args: []Row{
				{Path: "scale", Type: Real, Default: "sqrt(width)", Above: true, Max: 1e9, Usual: Span{1e-3, 1e3}, Doc: "factor on the embedding"}}},
		}},
		{Path: "model.embed.position", Type: Choice, Default: "none", Doc: "the scheme of positions", Choices: positions()},
		{Path: "model.embed.norm", Type: Choice, Default: "none", Doc: "normalization of the embedding", Choices: []Option{
			{Name: "none"},
			{Name: "layernorm", Args: normArgs("1e-5")[:1]},
			{Name: "rmsnorm", Args: normArgs("1e-6")[:1]},
		}},
	}
}

func positions() []Option {
	return []Option{
		{Name: "none", Doc: "tokens are a set, but for the masks"},
		{Name: "learned", Doc: "a vector a position", Args: []Row{
			{Path: "max", Type: Int, Default: "512", Min: 1, Max: 1 << 20, Doc: "rows of the table"}}},
		{Name: "sinusoidal", Doc: "Vaswani et al. 2017"},
		{Name: "cyclic", Doc: "positions modulo a period (Duan & Shi 2023)", Args: []Row{
			{Path: "inner", Type: Choice, Default: "sinusoidal", Choices: []Option{{Name: "sinusoidal"}, {Name: "learned"}}, Doc: "what they are then"},
			{Path: "period", Type: Int, Default: "3", Min: 2, Max: 1 << 16, Doc: "positions that are told apart"},
		}},
		{Name: "abacus", Doc: "positions within each number, from a start that a microbatch shares (McLeish et al. 2024)", Args: placesInNumbers("the first is for all but digits")},
		{Name: "coupling", Doc: "positions within each number, from a start of its own for each example; an operator, too, has that of a digit (Cho et al. 2024)", Args: placesInNumbers("the first is for all but digits in tests")},
		{Name: "random", Doc: "in training an ordered random subset of positions, as many as the longest problem has tokens, of which each takes the first; in tests 0, 1, 2 and so on (Ruoss et al. 2023)", Args: []Row{
			{Path: "inner", Type: Choice, Default: "sinusoidal", Doc: "what they are then; none leaves them to biases, as pi and pj",
				Choices: []Option{{Name: "none"}, {Name: "sinusoidal"}, {Name: "learned"}}},
			{Path: "max", Type: Int, Default: "2048", Min: 1, Max: 1 << 20, Doc: "positions to choose from"},
		}},
		{Name: "shifted", Doc: "in training each example begins at a random position, its source at another; in tests at 0; masks, biases and rotations go by token indices (Kiyono et al. 2021)", Args: []Row{
			{Path: "inner", Type: Choice, Default: "sinusoidal", Choices: []Option{{Name: "sinusoidal"}, {Name: "learned"}}, Doc: "what they are then"},
			maxOffset(),
			{Path: "max", Type: Int, Default: "512", Min: 1, Max: 1 << 20, Doc: "positions, those of the largest offset included"},
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
		{Path: "learned", Type: Bool, Default: "true", Doc: "the rows are trained; else they stay as they were drawn"},
	}
}

func loopRows() []Row {
	return []Row{
		{Path: "model.loop.layers", Type: Int, Default: "2", Min: 1, Max: 1 << 10, Doc: "layers in the loop"},
		{Path: "model.loop.times", Type: Int, Default: "1", Min: 1, Max: 1 << 10, Doc: "how often the loop is run"},
		{Path: "model.loop.inject", Type: Choice, Default: "none", Doc: "where the embedded input is added again", Choices: []Option{
			{Name: "none", Doc: "nowhere"},
			{Name: "add", Args: []Row{{Path: "before", Type: Choice, Default: "block", Doc: "the places", Choices: []Option{
				{Name: "block", Doc: "once each time, before the first layer"},
				{Name: "every_layer", Doc: "before every layer"}}}}},
		}},
		{Path: "model.loop.state", Type: Choice, Default: "embed", Doc: "what the first layer starts from", Choices: []Option{
			{Name: "embed", Doc: "the embedded input"},
			{Name: "normal", Doc: "noise, drawn for every pass, in tests too", Args: []Row{
				{Path: "std", Type: Real, Default: "0.02", Max: 1e3, Doc: "standard deviation; 0 starts from zeros"}}},
		}},
	}
}

func stackRows(block string, least float64, layers, doc string) []Row {
	return []Row{
		{Path: block + ".layers", Type: Int, Default: layers, Min: least, Max: 1 << 10, Doc: doc},
		{Path: block + ".times", Type: Int, Default: "1", Min: 1, Max: 1 << 10, Doc: "how often the stack is applied"},
	}
}

func siteRows(site string) []Row {
	return []Row{
		{Path: site + ".mask", Type: Condition, Default: "true", Doc: "which keys a query sees"},
		{Path: site + ".bias", Type: Bias, Default: "none", Words: "none", Doc: "what is added to the scores"},
		{Path: site + ".rotary", Type: Choice, Default: "none", Doc: "rotary positions (Su et al. 2021)", Choices: []Option{
			{Name: "none"},
			{Name: "rope", Args: []Row{
				{Path: "base", Type: Real, Default: "10000", Min: 1, Above: true, Max: 1e9, Doc: "of the wave lengths"},
				{Path: "fraction", Type: Fraction, Default: "100%", Above: true, Max: 1, Doc: "share that is rotated"},
				{Path: "of", Type: Choice, Default: "heads", Doc: "what is rotated", Choices: []Option{
					{Name: "heads", Doc: "queries and keys, each head by itself: scores depend on distances"},
					{Name: "input", Doc: "what queries and keys are projected from, as a whole, as in the released code of Duan & Shi 2023: they do not"}}},
			}},
		}},
		{Path: site + ".relative", Type: Choice, Default: "none", Doc: "a learned vector for each distance, with which queries have products as with keys", Choices: []Option{
			{Name: "none"},
			{Name: "shaw", Args: []Row{
				{Path: "clip", Type: Int, Default: "16", Min: 1, Max: 1 << 12, Doc: "distances beyond it are alike"},
			}, Doc: "one table a layer, for keys alone (Shaw et al. 2018, equation 4)"},
		}},
		{Path: site + ".scale", Type: Real, Default: "1 / sqrt(width / heads)", Min: 0, Max: 1e9, Usual: Span{1e-4, 1e3}, Doc: "factor on the scores"},
		{Path: site + ".dropout", Type: Fraction, Default: "=model.dropout", Max: 0.99, Usual: Span{0, 0.7}, Doc: "share of attention weights that is dropped"},
	}
}
