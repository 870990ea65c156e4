package dsl

func trainRows() []Row {
	lr := func(size string) Row {
		return Row{Path: "lr", Type: Real, Default: size, Above: true, Max: 1, Usual: Span{1e-6, 0.1}, Doc: "peak learning rate"}
	}
	decay := func(size string) Row {
		return Row{Path: "decay", Type: Real, Default: size, Min: 0, Max: 1e3, Usual: Span{0, 1}, Doc: "weight decay of tables and matrices, not of norms and biases"}
	}
	adam := func() []Row {
		return []Row{
			lr("1e-3"),
			{Path: "betas", Type: RealList, Default: "[0.9, 0.98]", Len: 2, Min: 0, Max: 0.999999, Doc: "decay rates of the two moments"},
			{Path: "eps", Type: Real, Default: "1e-9", Min: leastEps, Max: 1, Usual: Span{leastEps, 1e-2}, Doc: "added to the square root of the second moment"},
		}
	}
	ramp := []Row{
		{Path: "warmup", Type: Fraction, Default: "10%", Max: 1, Doc: "share of the budget in which the learning rate rises"},
		{Path: "cooldown", Type: Fraction, Default: "10%", Max: 1, Doc: "share of the budget in which the learning rate falls"},
	}
	return []Row{
		{Path: "train.loss", Type: Choice, Default: "cross_entropy", Doc: "loss function", Choices: []Option{
			{Name: "cross_entropy"},
			{Name: "progressive", Args: []Row{
				{Path: "alpha", Type: Real, Default: "1", Max: 1, Doc: "loss share of the pass of random length; the pass of full length has the rest"},
				{Path: "backprop", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 10,
					Doc: "most recurrences that gradients go through; auto: half of times, at least one"},
			}, Doc: "over a random number of recurrences (Bansal et al. 2022)"},
		}},
		{Path: "train.label_smoothing", Type: Fraction, Default: "0%", Min: 0, Max: 0.99, Usual: Span{0, 0.5},
			Doc: "share of a label's probability that all tokens share (Szegedy et al. 2016), in the loss that training minimizes; tests and reports show the loss of the label alone"},
		{Path: "train.reduce", Type: Choice, Default: "mean", Doc: "reduction of the tokens' losses", Choices: []Option{
			{Name: "mean", Doc: "over the tokens that count"},
			{Name: "sum_over_batch", Doc: "sum over the tokens that count, divided by the tokens of a batch of the longest problems"},
			{Name: "mean_of_examples", Doc: "mean over problems of the mean over a problem's tokens that count, as in the text of McLeish et al. 2024"},
		}},
		{Path: "train.throttle", Type: Choice, Default: "none", Doc: "smaller gradients for more recurrences", Choices: []Option{
			{Name: "none"},
			{Name: "loss", Doc: "the loss is multiplied by (1 + min(R/4, K/2)) / K, for R recurrences of which at most K have gradients, as in the code of McLeish et al. 2024"},
			{Name: "block", Doc: "the gradients of the loop's parameters are divided by the number of recurrences with gradients, as in the text of McLeish et al. 2024"},
		}},
		{Path: "train.optimizer", Type: Choice, Default: "adamw", Doc: "rule that updates weights", Choices: []Option{
			{Name: "adamw", Args: append(adam(), decay("0.01")), Doc: "Loshchilov & Hutter 2017"},
			{Name: "adam", Args: adam(), Doc: "Kingma & Ba 2014"},
			// A tenth of AdamW's step size and ten times its decay, because steps are
			// signs, which are larger (section 5 of the paper).
			{Name: "lion", Args: []Row{
				lr("1e-4"),
				{Path: "betas", Type: RealList, Default: "[0.9, 0.99]", Len: 2, Min: 0, Max: 0.999999, Doc: "share of the momentum in a step's direction, and the momentum's decay"},
				decay("0.1"),
			}, Doc: "Chen et al. 2023"},
			{Name: "sgd", Args: []Row{
				lr("0.1"),
				{Path: "momentum", Type: Real, Default: "0.9", Min: 0, Max: 0.999999, Doc: "decay rate of the sum of gradients"},
				{Path: "nesterov", Type: Bool, Default: "false", Doc: "Nesterov momentum; adds the gradient to that sum again"},
				decay("0"),
			}, Doc: "Sutskever et al. 2013, as torch.optim.SGD: the decay is added to the gradient"},
			{Name: "muon", Args: append(adam(), decay("0.1"),
				Row{Path: "momentum", Type: Real, Default: "0.95", Min: 0, Max: 0.999999, Doc: "for matrices: decay rate of the gradient average"},
				Row{Path: "nesterov", Type: Bool, Default: "true", Doc: "for matrices: Nesterov momentum; adds the gradient to that average again"},
				Row{Path: "steps", Type: Int, Default: "5", Min: 1, Max: 20, Doc: "for matrices: steps of the Newton-Schulz iteration"},
				Row{Path: "adjust", Type: Choice, Default: "match_rms_adamw", Doc: "for matrices: learning-rate adjustment by shape", Choices: []Option{
					{Name: "match_rms_adamw", Doc: "elements move as far as AdamW's, so one lr serves both (Liu et al. 2025)"},
					{Name: "original", Doc: "larger only for more outputs than inputs (Jordan et al. 2024)"},
				}},
			), Doc: "Jordan et al. 2024, for matrices of linear layers except the output's; AdamW for all else; like torch.optim.Muon, but in f32 instead of bf16"},
		}},
		{Path: "train.average", Type: Choice, Default: "none", Doc: "running average of the weights, stored in checkpoints and tested in addition to them", Choices: []Option{
			{Name: "none"},
			{Name: "ema", Args: []Row{
				{Path: "decay", Type: Real, Default: "0.999", Min: 0, Max: 0.999999, Usual: Span{0.5, 0.999999}, Doc: "share of the old average in the new one, at most t/(t + 9) after t steps"},
			}, Doc: "exponential moving average (Polyak & Juditsky 1992; Tarvainen & Valpola 2017)"},
		}},
		{Path: "train.grokfast", Type: Choice, Default: "none", Later: true, Doc: "filter of gradients before clipping: clip limits, and reports show, the norm of the filtered gradients", Choices: []Option{
			{Name: "none"},
			{Name: "ema", Args: []Row{
				{Path: "alpha", Type: Real, Default: "0.98", Min: 0, Max: 0.999999, Usual: Span{0.5, 0.999}, Doc: "share of the old average of gradients in the new one"},
				{Path: "lamb", Type: Real, Default: "2", Min: 0, Max: 1e3, Usual: Span{0.01, 10}, Doc: "factor on that average, which is added to the gradient"},
			}, Doc: "amplifies the slow part of gradients (Lee et al. 2024)"},
		}},
		{Path: "train.schedule", Type: Choice, Default: "trapezoid", Doc: "learning-rate schedule", Choices: []Option{
			{Name: "trapezoid", Args: ramp},
			{Name: "constant"},
			{Name: "cosine", Args: []Row{ramp[0],
				{Path: "min", Type: Fraction, Default: "0%", Max: 1, Later: true, Doc: "share of the learning rate that is left at the end"},
			}},
			{Name: "pieces", Doc: "linear between points, constant before the first and after the last", Args: []Row{
				{Path: "at", Type: ShareList, Default: "[0%, 10%, 50%, 100%]", Max: 1, Doc: "shares of the budget, ascending"},
				{Path: "factor", Type: RealList, Default: "[0, 1, 1, 0.01]", Max: 1, Doc: "share of lr at each point"},
			}},
		}},
		{Path: "train.clip", Type: Real, Default: "none", Words: "none", Min: 1e-9, Max: 1e9, Usual: Span{1e-3, 1e4}, Doc: "largest gradient norm; longer gradients are scaled down to it"},
		{Path: "train.batch", Type: Int, Default: "128", Min: 1, Max: 1 << 20, Doc: "examples per step"},
		{Path: "train.ramp", Type: Choice, Default: "none", Doc: "growth of the batch", Choices: []Option{
			{Name: "none", Doc: "all batches have the same size"},
			{Name: "grow", Doc: "the batch grows up to train.batch", Args: []Row{
				{Path: "over", Type: Fraction, Above: true, Max: 1, Doc: "share of the budget in which the batch grows"},
				{Path: "from", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 20, Doc: "first size of the batch, and its increment; auto: one microbatch"}}},
		}},
		{Path: "train.lengths", Type: Choice, Default: "sorted", Doc: "batching of sequences of different lengths", Choices: []Option{
			{Name: "sorted", Doc: "longest first among examples that share draws; stored consecutively without padding, or with little padding if masks or biases read the length or open keys after the query"},
			{Name: "padded", Doc: "in the order drawn, all padded to the longest possible problem"},
		}},
		{Path: "train.microbatch", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 20,
			Doc: "examples that share an Abacus offset and a progressive loss's recurrences, auto: 64; without either, examples per launch"},
		{Path: "train.chunk", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 20,
			Doc: "examples whose gradients one thread or GPU adds up, as one leaf of a tree of sums: it sets the order of additions, and a batch has work for as many threads or GPUs as chunks; auto: a 4th to a 16th of the batch"},
		{Path: "train.budget", Type: Budget, Default: "1000steps", Min: 0, Max: 1e24, Doc: "length of training: steps, examples, time, FLOP, or epochs of a task whose problems repeat"},
		{Path: "train.report", Type: Choice, Default: "brief", Doc: "measurements during training, without dropout, in metrics.jsonl and metrics.csv", Choices: []Option{
			{Name: "brief", Args: reports(), Doc: "exact match on held-out problems; of a text the same as full"},
			{Name: "full", Args: reports(), Doc: "exact match and loss, in nats per token that counts, on held-out and training problems; of a text the loss alone"},
		}},
		{Path: "train.precision", Type: Choice, Default: "f32", Doc: "number format of the factors of matrix products, in training and tests", Choices: []Option{
			{Name: "f32", Doc: "nothing is rounded"},
			{Name: "bf16", Doc: "the factors of linear layers and of attention are rounded to bfloat16, in gradients too; products are added in f32; " +
				"weights, their gradients, moments, norms, softmax, loss, biases of attention and residuals stay f32; " +
				"on a processor with AVX512-BF16, a factor or a sum below 2^-126 is 0 in these products"},
			{Name: "tf32x3", Doc: "the factors of linear layers are split into two TF32 numbers each, and each product becomes three, in gradients too: " +
				"nearly as exact as f32, and fast on the tensor cores of a GPU; attention and all else are f32"},
		}},
		{Path: "train.seed", Type: Int, Default: "0", Max: 1e15, Doc: "key of all random numbers; also selects held-out problems unless task.split does"},
		{Path: "train.init_seed", Type: Int, Default: "none", Words: "none", Later: true, Max: 1e15,
			Doc: "seed of only the initial weights, to vary them and nothing else; none: train.seed"},
		{Path: "train.lanes", Type: Int, Default: "0", Later: true, Max: 128,
			Doc: "models that the flag --init-seed A..B trains at once, one in each lane of vectors: 8, 16, 32, 64 or 128; 0: none"},
		{Path: "train.keep", Type: Choice, Default: "last", Doc: "checkpoints that stay", Choices: []Option{
			{Name: "last", Doc: "the last two"},
			{Name: "best", Args: criterion("exact_match"), Doc: "also the best in the tests of eval.during, the first of equals"},
		}},
		{Path: "train.stop", Type: Choice, Default: "none", Doc: "early stopping", Choices: []Option{
			{Name: "none"},
			{Name: "plateau", Args: append([]Row{
				{Path: "patience", Type: Int, Default: "10", Min: 1, Max: 1 << 20, Doc: "tests of eval.during without a better one"},
			}, criterion("loss")...), Doc: "no further improvement"},
			{Name: "accuracy", Doc: "exact match on a report's problems, then on 1024 others", Args: []Row{
				{Path: "at_least", Type: Fraction, Default: "100%", Above: true, Max: 1, Doc: "required exact match"},
				{Path: "on", Type: Choice, Default: "held_out", Doc: "problems it is measured on", Choices: []Option{
					{Name: "held_out", Doc: "held-out problems"}, {Name: "train", Doc: "training problems"}}},
			}},
		}},
	}
}

// reports are the arguments for the interval and size of reports.
func reports() []Row {
	return []Row{
		{Path: "every", Type: Steps, Default: "auto", Words: "auto", Min: 1, Max: 1e9,
			Doc: "steps between reports; auto: a hundredth of the budget, 20 steps if that fixes no number of steps"},
		{Path: "problems", Type: Int, Default: "64", Min: 1, Max: 1 << 20, Doc: "problems per report, or all if there are fewer"},
	}
}

// criterion are the arguments for comparing tests during training.
func criterion(metric string) []Row {
	return []Row{
		{Path: "metric", Type: Choice, Default: metric, Doc: "measure to compare, as the mean over the tested lengths", Choices: []Option{
			{Name: "exact_match", Doc: "exact match, then loss"},
			{Name: "loss", Doc: "loss in nats per token that counts"}}},
		{Path: "at", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 1 << 20, Doc: "the only length that counts, one of eval.during.digits; auto: all of them"},
		{Path: "of", Type: Choice, Default: "weights", Doc: "weights to compare", Choices: []Option{
			{Name: "weights", Doc: "trained weights"}, {Name: "average", Doc: "averaged weights of train.average"}}},
	}
}

// maxDigits is the largest number of digits in test operands, as in the runtime.
const maxDigits = 1 << 15

func evalRows() []Row {
	return []Row{
		{Path: "eval.grid", Type: Grid, Default: "none", Words: "none", Kinds: made, Min: 1, Max: 1000,
			Doc: "digits of the first and second operand; of an array, digits and length"},
		{Path: "eval.diagonal", Type: IntRange, Default: "none", Words: "none", Kinds: made, Min: 1, Max: maxDigits,
			Doc: "digits of both operands, in addition to the grid"},
		{Path: "eval.digits", Type: IntList, Default: "[6, 10, 15, 20, 60]", Unless: "eval.grid eval.diagonal", Kinds: made, Min: 1, Max: maxDigits,
			Doc: "digits of the operands"},
		{Path: "eval.terms", Type: IntList, Default: "auto", Words: "auto", Kinds: "sum", Min: 2, Max: maxOperands,
			Doc: "number of operands, for each of eval.digits; auto: the largest of task.terms"},
		{Path: "eval.samples", Type: Int, Default: "2000", Kinds: answered, Min: 1, Max: 1 << 30, Doc: "distinct problems per length or grid cell, held out or not; for trained lengths, a result estimates how many were trained on, and its table shows this from 5 % up; for a file, at most this many held-out problems per prompt length"},
		{Path: "eval.pad", Type: Choice, Default: "=task.pad", Kinds: made, Doc: "fixed width of test problems", Choices: padOptions()},
		{Path: "eval.metric", Type: Choice, Default: "exact_match", Kinds: answered, Doc: "when an answer is right", Choices: []Option{
			{Name: "exact_match", Doc: "the whole answer matches"},
			{Name: "first_token", Doc: "the first token matches"},
		}},
		{Path: "eval.mode", Type: Choice, Default: "verify", Kinds: answered, Doc: "decoding of answers", Choices: []Option{
			{Name: "verify", Doc: "one pass over the reference answer, with the same result"},
			{Name: "greedy", Doc: "token by token"},
		}},
		{Path: "eval.times", Type: IntList, Default: "none", Words: "none", Min: 1, Max: 1 << 10,
			Doc: "further numbers of recurrences to test, to think longer"},
		{Path: "eval.settle", Type: Int, Default: "none", Words: "none", Kinds: answered, Min: 2, Max: 1 << 10,
			Doc: "most recurrences of a further test that runs the loop on each problem until its answer stays the same"},
		{Path: "eval.during", Type: Choice, Default: "none", Kinds: answered, Doc: "tests during training", Choices: []Option{
			{Name: "none"},
			{Name: "tests", Doc: "tests of held-out problems, also after the last step", Args: []Row{
				{Path: "every", Type: Budget, Min: 0, Max: 1e24, Doc: "interval of the tests: steps, examples or FLOP"},
				{Path: "digits", Type: IntList, Default: "auto", Words: "auto", Kinds: made, Min: 1, Max: maxDigits,
					Doc: "digits of the operands; auto: the longest trained length of the evaluation and three longer ones; trained lengths without a held-out problem are left out"},
				{Path: "samples", Type: Int, Default: "100", Min: 1, Max: 1 << 20, Doc: "problems per length"}}},
		}},
	}
}
