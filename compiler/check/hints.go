package check

import "slices"

// A hint maps names from other libraries to a setting.
type hint struct {
	names []string
	path  string // of the setting
	value string
	loop  string // the path in a decoder-only model, if it differs
}

var hints = []hint{
	{[]string{"lr", "learning_rate"}, "train.optimizer.lr", "1e-3", ""},
	{[]string{"weight_decay"}, "train.optimizer.decay", "0.01", ""},
	{[]string{"betas", "beta1", "beta2"}, "train.optimizer.betas", "[0.9, 0.98]", ""},
	{[]string{"warmup", "warmup_steps"}, "train.schedule.warmup", "10%", ""},
	{[]string{"steps", "max_steps", "iterations", "iters"}, "train.budget", "1000steps", ""},
	{[]string{"epochs", "num_epochs"}, "train.budget", "20Mexamples", ""},
	{[]string{"batch_size"}, "train.batch", "128", ""},
	{[]string{"layers", "n_layers", "n_layer", "num_layers", "depth"}, "model.decoder.layers", "2", "model.decoder_only.layers"},
	{[]string{"dim", "d_model", "n_embd", "embed_dim", "hidden_size"}, "model.width", "64", ""},
	{[]string{"n_head", "num_heads", "nhead"}, "model.heads", "4", ""},
	{[]string{"hidden", "d_ff", "ffn_dim", "dim_feedforward"}, "model.ffn", "relu(hidden = 256)", ""},
}

// hintFor returns help for a name from another library, used in a block, or "". An axis
// of a sweep gets a list of values.
func (l *language) hintFor(block, name string) string {
	i := slices.IndexFunc(hints, func(h hint) bool { return slices.Contains(h.names, name) })
	if i < 0 {
		return ""
	}
	h := hints[i]
	value := h.value
	if in, _ := l.overlay(block); block == "sweep" || in == "sweep" {
		value = "[" + value + ", …]"
	}
	if h.loop != "" {
		return "write " + h.path + " = " + value + ", or in a decoder-only model " + h.loop + " = " + value
	}
	return "write " + h.path + " = " + value
}

// A wording maps names from other libraries to an expression.
type wording struct {
	names []string
	write string
	mask  bool // the expression belongs in masks only
}

var wordings = []wording{
	{[]string{"tril", "causal_mask", "lower_triangular"}, "causal()", true},
	{[]string{"triu", "upper_triangular"}, "i <= j", true},
	{[]string{"sliding_window", "local"}, "window(left = 1)", true},
	{[]string{"pow", "power"}, "exp(y * log(x)), or x * x", false},
	{[]string{"ln"}, "log(x)", false},
	{[]string{"log1p"}, "log(1 + x)", false},
	{[]string{"expm1"}, "exp(x) - 1", false},
	{[]string{"clamp"}, "clip(x, lo, hi)", false},
	{[]string{"maximum"}, "max(x, y)", false},
	{[]string{"minimum"}, "min(x, y)", false},
	{[]string{"remainder", "fmod"}, "mod(i, 2)", false},
	{[]string{"round"}, "floor(x + 0.5)", false},
	{[]string{"ceil"}, "-floor(-x)", false},
	{[]string{"sign", "sgn"}, "where(x < 0, -1, 1)", false},
	{[]string{"select", "ifelse"}, "where(i < j, x, y)", false},
	{[]string{"silu", "swish"}, "x * sigmoid(x)", false},
	{[]string{"gelu"}, "x * sigmoid(1.702 * x)", false},
	{[]string{"logsigmoid"}, "-softplus(-x)", false},
}

// wordingFor returns help for a name from another library, used in an expression, or "".
func (s *scope) wordingFor(name string) string {
	i := slices.IndexFunc(wordings, func(w wording) bool { return slices.Contains(w.names, name) })
	switch {
	case i < 0 || wordings[i].mask && (s.rows || s.vars != nil):
		return ""
	case wordings[i].mask && !s.mask:
		return "a mask does that: mask = " + wordings[i].write
	}
	return "write " + wordings[i].write
}
