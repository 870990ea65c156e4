package diag

// vetCodes are warnings.
var vetCodes = []Code{
	{
		ID:    "V001",
		Title: "positions that are evaluated and never trained",
		Doc: "Learned positions beyond the longest training problem, and rows of an Abacus table beyond its " +
			"longest number and largest offset, keep their first random values, so longer problems are " +
			"hopeless from the start. Where that is what the experiment shows, write vet { V001 = off }.",
		Broken: `arith 1

task successor {}

task.below = 1k
model.embed.position = learned(max = 64)
eval.digits = 1..6
`,
		Mended: `arith 1

task successor {}

task.below = 1M
model.embed.position = learned(max = 64)
eval.digits = 1..6
`,
	},
	{
		ID:    "V002",
		Title: "a query without a key",
		Doc: "At some length that is trained or evaluated, the mask closes all keys of a query; it attends to " +
			"nothing and reads zeros. A decoder's self mask is always joined with causality first.",
		Broken: `arith 1

task successor {}

model.decoder.cross.mask = abs(J - 4 - i - j) <= 1
`,
		Mended: `arith 1

task successor {}

model.decoder.cross.mask = abs(J - 2 - i - j) <= 1
`,
	},
	{
		ID:    "V003",
		Title: "a learned leaf that is never used",
		Doc:   "The leaf is part of no bias of the model, so it is not trained and not saved.",
		Broken: `arith 1

task successor {}

bias b {
  r     = learned([H])
  value = r[h] * abs(i - j)
}

model.decoder.self.bias = b
--set bias.b.value=-0.5 * abs(i - j)
`,
		Mended: `arith 1

task successor {}

bias b {
  r     = learned([H])
  value = r[h] * abs(i - j)
}

model.decoder.self.bias = b
`,
	},
	{
		ID:    "V004",
		Title: "attention of an encoder without layers",
		Doc:   "An encoder of 0 layers is the identity and attends to nothing.",
		Broken: `arith 1

task successor {}

model {
  encoder {
    layers = 0
    self { mask = j <= i }
  }
}
`,
		Mended: `arith 1

task successor {}

model {
  encoder {
    layers = 1
    self { mask = j <= i }
  }
}
`,
	},
	{
		ID:    "V005",
		Title: "a progressive loss over one run",
		Doc: "A progressive loss draws how often the loop is run, from once to all times. Where it is run " +
			"once there is nothing to draw, and gradients cannot go through more runs than there are.",
		Broken: `arith 1

task successor {}

model.loop.times = 1
train.loss = progressive(alpha = 1)
`,
		Mended: `arith 1

task successor {}

model.loop.times = 1
train.loss = cross_entropy
`,
	},
	{
		ID:    "V006",
		Title: "more examples than problems",
		Doc: "More examples are drawn before training than there are different problems, so that many of " +
			"them are the same.",
		Broken: `arith 1

task successor {
  digits   = 1..3
  examples = 10k
}
`,
		Mended: `arith 1

task successor {
  digits   = 1..3
  examples = 500
}
`,
	},
	{
		ID:    "V007",
		Title: "an evaluation longer than training",
		Doc: "The problems of evaluation, over all lengths or cells, have more tokens than three times " +
			"those of training: a training step costs about three passes.",
		Broken: `arith 1

task successor {}

eval.samples = 100k
`,
		Mended: `arith 1

task successor {}

eval.samples = 1k
`,
	},
	{
		ID:    "V008",
		Title: "a stage that nothing uses",
		Doc: "Each stage starts with new weights unless it says from, so what a stage trained or " +
			"calibrated is lost unless a later one names it. The last stage is the result.",
		Broken: `arith 1

task successor {}

stage first {}

stage second {}
`,
		Mended: `arith 1

task successor {}

stage first {}

stage second { from = first }
`,
	},
	{
		ID:    "V009",
		Title: "an input that never reaches the model",
		Doc:   "A loop that starts from noise, and into which nothing is injected, never sees the problem.",
		Broken: `arith 1

task successor {}

model.loop {
  state  = normal(std = 0.02)
  inject = none
}
`,
		Mended: `arith 1

task successor {}

model.loop {
  state  = normal(std = 0.02)
  inject = add(before = block)
}
`,
	},
	{
		ID:    "V010",
		Title: "a shape without a schedule of its own",
		Doc: "Attention is written for heads whose width is a multiple of 16, up to 128. Others are " +
			"computed by general code, correctly and slowly. Models narrower than 64 are too small for it " +
			"to matter.",
		Broken: `arith 1

task successor {}

model {
  width = 96
  heads = 8
}
`,
		Mended: `arith 1

task successor {}

model {
  width = 96
  heads = 6
}
`,
	},
	{
		ID:    "V011",
		Title: "Abacus positions of numbers that are not reversed",
		Doc: "Abacus numbers the digits of each operand and of the answer from the first one written " +
			"(McLeish et al. 2024). Only if that is the least significant one do equal positions mean " +
			"equal places.",
		Broken: `arith 1

task addition {}

model.embed.position = abacus(max_offset = 100)
`,
		Mended: `arith 1

task addition {
  order = reversed
}

model.embed.position = abacus(max_offset = 100)
`,
	},
	{
		ID:    "V012",
		Title: "random positions that reach nothing",
		Doc: "Random positions without an embedding of their own (inner = none) are read by rotations and by biases over " +
			"pi and pj (Ruoss et al. 2023). Biases over i and j, as alibi, and relative vectors go by the indices of " +
			"tokens, and so do masks.",
		Broken: `arith 1

task successor {}

model.embed.position = random(inner = none, max = 128)

model.decoder.self.bias = alibi
`,
		Mended: `arith 1

task successor {}

model.embed.position = random(inner = none, max = 128)

model.decoder.self.bias = fire
`,
	},
	{
		ID:    "V013",
		Title: "lengths that count padding",
		Doc: "A loop is trained on texts of several lengths at once, which are padded to the longest, and I and J are " +
			"the padded length; in a test they are the problem's own. What a mask or bias makes of them, as the " +
			"distance to the end, is then not what was trained.",
		Broken: `arith 1

task addition {}

model.loop {
  layers    = 2
  self.bias = to_end
}

bias to_end {
  w     = learned([H, 64])
  value = w[h, clip(J - 1 - j, 0, 63)]
}
`,
		Mended: `arith 1

task addition {}

model.loop {
  layers    = 2
  self.bias = back
}

bias back {
  w     = learned([H, 64])
  value = w[h, clip(i - j, 0, 63)]
}
`,
	},
	{
		ID:    "V014",
		Title: "windows that hide what an answer needs",
		Doc: "Two short problems, of each of which some row sees the same tokens through the masks, directly and through " +
			"all layers of rows before, and must say something else. No training makes a model with these masks and positions " +
			"right on both. Only decoders with masks, and with cyclic positions or none, are looked at; a window that hides " +
			"something only of longer problems is not found.",
		Broken: `arith 1

task successor {
  digits = 1..6
  pad    = zero(to = 7)
}

model {
  embed.position = none

  decoder {
    self.mask  = window(left = 1)
    cross.mask = antiwindow(left = 1, right = 1) // of the first row: x_1 or x_2?
  }
}
`,
		Mended: `arith 1

task successor {
  digits = 1..6
  pad    = zero(to = 7)
}

model {
  embed.position = none

  decoder {
    self.mask  = window(left = 1)
    cross.mask = antiwindow(left = 0, right = 1)
  }
}
`,
	},
	{
		ID:    "V040",
		Title: "a start of biases that are not there",
		Doc:   "With bias = false linear layers have no biases, and how they would start says nothing.",
		Broken: `arith 1

task successor {}

model {
  bias = false
  init = xavier(biases = uniform)
}
`,
		Mended: `arith 1

task successor {}

model {
  bias = true
  init = xavier(biases = uniform)
}
`,
	},
}
