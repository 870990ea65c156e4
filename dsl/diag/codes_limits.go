package diag

// modelLimitCodes are about tasks and models that the language has and the
// compiler has not yet.
var modelLimitCodes = []Code{
	{
		ID:    "E0401",
		Title: "tasks",
		Doc: "Encoder-decoders learn successor, addition, nx1 and parity; decoder-only models, those with a loop, all " +
			"tasks.",
		Broken: `arith 1

task subtraction {}
`,
		Mended: `arith 1

task subtraction {}

model.loop { layers = 2 }
`,
	},
	{
		ID:    "E0402",
		Title: "bases beyond ten in sequences",
		Doc:   "The vocabulary of decoder-only models, those with a loop, has the digits 0 to 9.",
		Broken: `arith 1

task addition {
  base = 16
}

model.loop { layers = 2 }
`,
		Mended: `arith 1

task addition {
  base = 8
}

model.loop { layers = 2 }
`,
	},
	{
		ID:    "E0403",
		Title: "index hints for encoder-decoders",
		Doc:   "Only decoder-only models, those with a loop, have a vocabulary with hints.",
		Broken: `arith 1

task addition {
  hints = cyclic
}
`,
		Mended: `arith 1

task addition {
  hints = cyclic
}

model.loop { layers = 2 }
`,
	},
	{
		ID:    "E0404",
		Title: "random padding for encoder-decoders",
		Doc: "Only the sequences of decoder-only models, those with a loop, can have fillers; the numbers of an " +
			"encoder-decoder can be padded with zeros to a fixed width.",
		Broken: `arith 1

task successor {
  random_pad = 10%
}
`,
		Mended: `arith 1

task successor {
  pad = zero(to = 8)
}
`,
	},
	{
		ID:    "E0405",
		Title: "sets of examples for encoder-decoders",
		Doc: "Only decoder-only models, those with a loop, walk a set of problems again and again, and operands that " +
			"are drawn from the numbers below some number are a set by themselves. The length of training is train.budget.",
		Broken: `arith 1

task successor {
  examples = 20M
}
`,
		Mended: `arith 1

task successor {}

train.budget = 20Mexamples
`,
	},
	{
		ID:    "E0406",
		Title: "loss on the problem in encoder-decoders",
		Doc:   "An encoder-decoder writes nothing but the answer, so the loss is on the answer.",
		Broken: `arith 1

task successor {
  loss_on = all
}
`,
		Mended: `arith 1

task successor {
  loss_on = answer
}
`,
	},
}
