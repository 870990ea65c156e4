package check

import "slices"

// A hint is what to write for names that other libraries have for something.
type hint struct {
	names []string
	write string // a setting
	loop  string // the same in a decoder-only model, if that is another
}

var hints = []hint{
	{[]string{"lr", "learning_rate"}, "train.optimizer = adamw(lr = 1e-3)", ""},
	{[]string{"weight_decay"}, "train.optimizer = adamw(decay = 0.01)", ""},
	{[]string{"betas", "beta1", "beta2"}, "train.optimizer = adamw(betas = [0.9, 0.98])", ""},
	{[]string{"warmup", "warmup_steps"}, "train.schedule = trapezoid(warmup = 10%)", ""},
	{[]string{"steps", "max_steps", "iterations", "iters"}, "train.budget = 1000steps", ""},
	{[]string{"epochs", "num_epochs"}, "train.budget = 20Mexamples", ""},
	{[]string{"batch_size"}, "train.batch = 128", ""},
	{[]string{"layers", "n_layers", "n_layer", "num_layers", "depth"}, "model.decoder.layers = 2", "model.loop.layers = 2"},
	{[]string{"dim", "d_model", "n_embd", "embed_dim", "hidden_size"}, "model.width = 64", ""},
	{[]string{"n_head", "num_heads", "nhead"}, "model.heads = 4", ""},
	{[]string{"hidden", "d_ff", "ffn_dim", "dim_feedforward"}, "model.ffn = relu(hidden = 256)", ""},
}

// hintFor is the help for a name that the language has something else for; "" if
// there is none.
func hintFor(name string) string {
	i := slices.IndexFunc(hints, func(h hint) bool { return slices.Contains(h.names, name) })
	switch {
	case i < 0:
		return ""
	case hints[i].loop != "":
		return "write " + hints[i].write + ", or in a decoder-only model " + hints[i].loop
	}
	return "write " + hints[i].write
}
