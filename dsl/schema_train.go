package dsl

func trainRows() []Row {
	lr := func(size string) Row {
		return Row{Path: "lr", Type: Real, Default: size, Above: true, Max: 1, Usual: Span{1e-6, 0.1}, Doc: "largest step size"}
	}
	decay := func(size string) Row {
		return Row{Path: "decay", Type: Real, Default: size, Min: 0, Max: 1e3, Usual: Span{0, 1}, Doc: "of tables and matrices, not of norms and biases"}
	}
	adam := func() []Row {
		return []Row{
			lr("1e-3"),
			{Path: "betas", Type: RealList, Default: "[0.9, 0.98]", Len: 2, Min: 0, Max: 0.999999, Doc: "decay of the two moments"},
			{Path: "eps", Type: Real, Default: "1e-9", Min: leastEps, Max: 1, Usual: Span{leastEps, 1e-2}, Doc: "added to the root of the second moment"},
		}
	}
	ramp := []Row{
		{Path: "warmup", Type: Fraction, Default: "10%", Max: 1, Doc: "share of the budget while the step size rises"},
		{Path: "cooldown", Type: Fraction, Default: "10%", Max: 1, Doc: "share of the budget while it falls"},
	}
	return []Row{
		{Path: "train.loss", Type: Choice, Default: "cross_entropy", Doc: "what is minimized", Choices: []Option{
			{Name: "cross_entropy"},
			{Name: "progressive", Args: []Row{
				{Path: "alpha", Type: Real, Default: "1", Max: 1, Doc: "share of the pass of random length, beside that of full length"},
				{Path: "backprop", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 10,
					Doc: "most runs of the loop that gradients go through; auto: half of times, at least one"},
			}, Doc: "over a random number of runs of the loop (Bansal et al. 2022)"},
		}},
		{Path: "train.reduce", Type: Choice, Default: "mean", Doc: "how the losses of tokens are added", Choices: []Option{
			{Name: "mean", Doc: "over the tokens that count"},
			{Name: "sum_over_batch", Doc: "over those that count, divided by the tokens of a batch of the longest problems"},
		}},
		{Path: "train.throttle", Type: Bool, Default: "false",
			Doc: "a factor on the loss that falls with the number of times (McLeish et al. 2024)"},
		{Path: "train.optimizer", Type: Choice, Default: "adamw", Doc: "how weights follow gradients", Choices: []Option{
			{Name: "adamw", Args: append(adam(), decay("0.01")), Doc: "Loshchilov & Hutter 2017"},
			{Name: "adam", Args: adam(), Doc: "Kingma & Ba 2014"},
			// A tenth of AdamW's step size and ten times its decay: steps of a sign are larger
			// (section 5 of the paper).
			{Name: "lion", Args: []Row{
				lr("1e-4"),
				{Path: "betas", Type: RealList, Default: "[0.9, 0.99]", Len: 2, Min: 0, Max: 0.999999, Doc: "share of the momentum in a step's direction, and its decay"},
				decay("0.1"),
			}, Doc: "Chen et al. 2023"},
			{Name: "muon", Args: append(adam(), decay("0.1"),
				Row{Path: "momentum", Type: Real, Default: "0.95", Min: 0, Max: 0.999999, Doc: "of matrices: decay of the average of gradients"},
				Row{Path: "nesterov", Type: Bool, Default: "true", Doc: "of matrices: the gradient counts again beside that average"},
				Row{Path: "steps", Type: Int, Default: "5", Min: 1, Max: 20, Doc: "of matrices: steps of the Newton-Schulz iteration"},
				Row{Path: "adjust", Type: Choice, Default: "match_rms_adamw", Doc: "of matrices: the step size of a shape", Choices: []Option{
					{Name: "match_rms_adamw", Doc: "elements move as far as those of AdamW, so that one lr serves both (Liu et al. 2025)"},
					{Name: "original", Doc: "larger only for more outputs than inputs (Jordan et al. 2024)"},
				}},
			), Doc: "Jordan et al. 2024, for the matrices of linear layers but that of the output, and AdamW for all else; as torch.optim.Muon, but in f32 where that computes in bf16"},
		}},
		{Path: "train.schedule", Type: Choice, Default: "trapezoid", Doc: "step size over the budget", Choices: []Option{
			{Name: "trapezoid", Args: ramp},
			{Name: "constant"},
			{Name: "cosine", Args: ramp[:1]},
		}},
		{Path: "train.clip", Type: Real, Default: "none", Words: "none", Min: 1e-9, Max: 1e9, Usual: Span{1e-3, 1e4}, Doc: "largest norm of the gradient"},
		{Path: "train.batch", Type: Int, Default: "128", Min: 1, Max: 1 << 20, Doc: "examples a step"},
		{Path: "train.ramp", Type: Fraction, Default: "0%", Max: 1, Doc: "share of the budget while the batch grows"},
		{Path: "train.ramp_from", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 20, Doc: "examples of the first step while the batch grows, and what it grows by; auto: one microbatch"},
		{Path: "train.lengths", Type: Choice, Default: "sorted", Doc: "sequences of different lengths in a batch", Choices: []Option{
			{Name: "sorted", Doc: "the longest first, so that those that are computed together need little padding; of examples that share draws, each microbatch by itself"},
			{Name: "padded", Doc: "as they are drawn, all as long as the longest problem there can be"},
		}},
		{Path: "train.microbatch", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 20,
			Doc: "examples that share an offset of abacus positions and the runs of a progressive loss, auto: 64; without either, examples of a launch"},
		{Path: "train.budget", Type: Budget, Default: "1000steps", Min: 0, Max: 1e24, Doc: "how long to train: steps, examples, time or FLOP"},
		{Path: "train.report", Type: Choice, Default: "brief", Doc: "what is measured while training, without dropout, into metrics.jsonl and metrics.csv", Choices: []Option{
			{Name: "brief", Args: reports(), Doc: "exact match of held-out problems"},
			{Name: "full", Args: reports(), Doc: "exact match and loss, in nats a token that counts, of held-out problems and of problems of training"},
		}},
		{Path: "train.precision", Type: Choice, Default: "auto", Doc: "numbers of the arithmetic", Choices: []Option{
			{Name: "auto", Doc: "f32 on a CPU"},
			{Name: "f32"},
			{Name: "bf16", Limit: Limit{"E0434", "precision = f32 or auto"}},
		}},
		{Path: "train.seed", Type: Int, Default: "0", Max: 1e15, Doc: "key of all random numbers, also of those that say which problems are held out unless task.split does"},
		{Path: "train.stop", Type: Choice, Default: "none", Doc: "a reason to stop early", Choices: []Option{
			{Name: "none"},
			{Name: "accuracy", Doc: "of the problems of a report, then of 1024 others", Args: []Row{
				{Path: "at_least", Type: Fraction, Default: "100%", Above: true, Max: 1, Doc: "exact match"},
				{Path: "on", Type: Choice, Default: "held_out", Doc: "of what", Choices: []Option{
					{Name: "held_out", Doc: "problems kept from training"}, {Name: "train", Doc: "problems of training"}}},
			}},
		}},
	}
}

// reports are how often is measured, and on how much.
func reports() []Row {
	return []Row{
		{Path: "every", Type: Steps, Default: "auto", Words: "auto", Min: 1, Max: 1e9,
			Doc: "steps from one report to the next; auto: a hundredth of the budget, 20 steps if that is no number of steps"},
		{Path: "problems", Type: Int, Default: "64", Min: 1, Max: 1 << 20, Doc: "how many, or all that there are"},
	}
}

func evalRows() []Row {
	return []Row{
		{Path: "eval.grid", Type: Grid, Default: "none", Words: "none", Kinds: made, Min: 1, Max: 1000,
			Doc: "digits of first and second operand, of an array digits and length"},
		{Path: "eval.diagonal", Type: IntRange, Default: "none", Words: "none", Kinds: made, Min: 1, Max: 1000,
			Doc: "digits of both operands, beside the grid"},
		{Path: "eval.digits", Type: IntList, Default: "[6, 10, 15, 20, 60]", Unless: "eval.grid eval.diagonal", Kinds: made, Min: 1, Max: 1000,
			Doc: "digits of the operands"},
		{Path: "eval.samples", Type: Int, Default: "2000", Min: 1, Max: 1 << 30, Doc: "problems a length, or a cell of the grid; of a file at most so many held-out ones of each length of the prompt"},
		{Path: "eval.pad", Type: Choice, Default: "=task.pad", Kinds: made, Doc: "fixed width of test problems", Choices: padOptions()},
		{Path: "eval.metric", Type: Choice, Default: "exact_match", Doc: "when an answer counts", Choices: []Option{
			{Name: "exact_match", Doc: "all of it is right"},
			{Name: "first_token", Doc: "its first token is right"},
		}},
		{Path: "eval.mode", Type: Choice, Default: "verify", Doc: "how answers are found", Choices: []Option{
			{Name: "verify", Doc: "one pass over the reference answer, which tells the same"},
			{Name: "greedy", Doc: "token by token"},
		}},
		{Path: "eval.times", Type: IntList, Default: "none", Words: "none", Min: 1, Max: 1 << 10,
			Doc: "runs of the loop that are tested besides its own, to think longer"},
		{Path: "eval.settle", Type: Int, Default: "none", Words: "none", Min: 2, Max: 1 << 10,
			Doc: "most runs of the loop in a test besides in which each problem has as many as it takes until its answer stays the same"},
	}
}
