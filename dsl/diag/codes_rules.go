package diag

// ruleCodes are about attributes that do not fit each other.
var ruleCodes = []Code{
	{
		ID:    "E0301",
		Title: "heads do not divide the width",
		Doc:   "Each head attends with an equal part of the vector of a token.",
		Broken: `arith 1

task successor {}

model {
  width = 1024
  heads = 48
}
`,
		Mended: `arith 1

task successor {}

model {
  width = 1024
  heads = 64
}
`,
	},
	{
		ID:    "E0302",
		Title: "operands are given twice or not at all",
		Doc: "task.digits draws operands by their number of digits, task.below from the numbers below a " +
			"bound. A spec that includes another may take its choice back by below = none or digits = none.",
		Broken: `arith 1

task successor {
  below  = 1Mi
  digits = 1..6
}
`,
		Mended: `arith 1

task successor {
  below = 1Mi
}
`,
	},
	{
		ID:    "E0304",
		Title: "too few learned positions",
		Doc: "Learned positions are rows of a table, and a problem that is trained or evaluated has more " +
			"tokens than the table has rows; or a number has more digits than the table of Abacus or coupled positions. " +
			"A trainer says the same of lengths that eval and solve are asked for.",
		Broken: `arith 1

task successor {}

model.embed.position = learned(max = 16)
eval.digits = 1..20
`,
		Mended: `arith 1

task successor {}

model.embed.position = cyclic(learned, period = 3)
eval.digits = 1..20
`,
	},
	{
		ID:    "E0305",
		Title: "a micro-batch larger than the batch",
		Doc:   "A batch is cut into micro-batches, each of which one worker takes on its own.",
		Broken: `arith 1

task successor {}

train {
  batch      = 16
  microbatch = 32
}
`,
		Mended: `arith 1

task successor {}

train {
  batch      = 32
  microbatch = 16
}
`,
	},
	{
		ID:    "E0306",
		Title: "sinusoidal positions of odd width",
		Doc: "Sinusoidal positions come in pairs of a sine and a cosine (Vaswani et al. 2017), so the width " +
			"is even.",
		Broken: `arith 1

task successor {}

model {
  width = 15
  heads = 3
  embed { position = sinusoidal }
}
`,
		Mended: `arith 1

task successor {}

model {
  width = 18
  heads = 3
  embed { position = sinusoidal }
}
`,
	},
	{
		ID:    "E0307",
		Title: "no task",
		Doc: "A spec says what is learnt: task addition { … }. A file without a task can still be included by " +
			"one that has it.",
		Broken: `arith 1

model { width = 32 }
`,
		Mended: `arith 1

task successor {}

model { width = 32 }
`,
	},
	{
		ID:    "E0308",
		Title: "a task without what it needs",
		Doc:   "A mixed task needs of, the tasks that are mixed; a file task needs path, the file.",
		Broken: `arith 1

task mixed {}
`,
		Mended: `arith 1

task successor {}
`,
	},
	{
		ID:    "E0310",
		Title: "warmup and cooldown overlap",
		Doc:   "The shares of the budget in which the step size rises and falls are at most the whole of it.",
		Broken: `arith 1

task successor {}

train { schedule = trapezoid(warmup = 60%, cooldown = 50%) }
`,
		Mended: `arith 1

task successor {}

train { schedule = trapezoid(warmup = 60%, cooldown = 40%) }
`,
	},
	{
		ID:    "E0312",
		Title: "loop beside encoder and decoder",
		Doc: "A model is one stack that is run several times, model.loop, or an encoder and a decoder. A " +
			"spec that writes model.loop anywhere has no other stacks.",
		Broken: `arith 1

task successor {}

model {
  loop { layers = 2 }
  decoder { layers = 2 }
}
`,
		Mended: `arith 1

task successor {}

model {
  decoder { layers = 2 }
}
`,
	},
	{
		ID:    "E0313",
		Title: "a calibration that trains",
		Doc: "A stage either trains, and then overrides attributes of the spec, or it calibrates a stage " +
			"before it, and then has samples, layer, of, extend, reduce and what to do with self and cross.",
		Broken: `arith 1

task successor {}

stage first {}

stage second {
  from        = first
  samples     = 100
  train.batch = 64
}

stage third {
  model.decoder.self.bias = second.self
}
`,
		Mended: `arith 1

task successor {}

stage first {}

stage second {
  from    = first
  samples = 100
}

stage third {
  train.batch             = 64
  model.decoder.self.bias = second.self
}
`,
	},
	{
		ID:    "E0314",
		Title: "a stage without weights",
		Doc: "A calibration reads the attention of a stage that has trained; its own result is a bias and " +
			"no weights to start from, or to test. So the last stage trains. Weights that a stage starts from " +
			"must fit: where both stages have a matrix, it is of one shape.",
		Broken: `arith 1

task successor {}

stage first {
  samples = 100
}
`,
		Mended: `arith 1

task successor {}

stage first {}

stage second {
  from    = first
  samples = 100
}

stage third {
  model.decoder.self.bias = second.self
}
`,
	},
	{
		ID:    "E0315",
		Title: "too many trainings",
		Doc:   "The axes of a sweep multiply, and a sweep has at most a thousand trainings.",
		Broken: `arith 1

task successor {}

sweep {
  train.seed  = 1..200
  train.batch = [16, 32, 64, 128, 256, 512]
}
`,
		Mended: `arith 1

task successor {}

train.seed = 1
`,
	},
	{
		ID:    "E0316",
		Title: "an odd number of gated units",
		Doc: "The units of geglu are counted before the gate, which multiplies one half of them with the " +
			"other.",
		Broken: `arith 1

task successor {}

model.ffn = geglu(hidden = 255)
`,
		Mended: `arith 1

task successor {}

model.ffn = gelu(hidden = 255)
`,
	},
	{
		ID:    "E0317",
		Title: "an odd number of rotated dimensions",
		Doc: "Rotary positions rotate pairs of the dimensions of a head, so the rotated share of a head " +
			"has an even number of them.",
		Broken: `arith 1

task successor {}

model.heads = 4
model.decoder.self.rotary = rope(fraction = 20%)
`,
		Mended: `arith 1

task successor {}

model.heads = 4
model.decoder.self.rotary = none
`,
	},
	{
		ID:    "E0318",
		Title: "runs of no loop",
		Doc: "A looped model can be tested with more runs of its loop than it was trained with, a progressive loss " +
			"draws how many there are, and throttle counts them; a model of encoder and decoder has no loop to run.",
		Broken: `arith 1

task successor {}

eval.times = [2, 4]
`,
		Mended: `arith 1

task addition {}

model.loop.layers = 2

eval.times = [2, 4]
`,
	},
	{
		ID:    "E0319",
		Title: "zeros in front of vectors",
		Doc: "Vectors of bits begin at the left, and arrays are letters and numbers of their own widths: neither can be " +
			"padded to a fixed width.",
		Broken: `arith 1

task or {
  pad = zero(to = 25)
}

model.loop { layers = 2 }
`,
		Mended: `arith 1

task or {
  pad = none
}

model.loop { layers = 2 }
`,
	},
	{
		ID:    "E0320",
		Title: "released lists of another size",
		Doc: "The lists of operands that Duan & Shi 2023 released with their code have 2^20 entries, as many as the " +
			"numbers below 1Mi.",
		Broken: `arith 1

task addition {
  below    = 1k
  sampling = released
}
`,
		Mended: `arith 1

task addition {
  below    = 1Mi
  sampling = released
}
`,
	},
	{
		ID:    "E0321",
		Title: "a file that has no problems",
		Doc: "A task file reads a file of problems, one a line: the prompt, the separator, the answer. The file is " +
			"UTF-8 text of at most 64 MiB without control characters but the tab, a line has at most 1,000 tokens, " +
			"and all lines together have at most 1,024 different ones: characters, or what task.tokens says. Neither " +
			"prompt nor answer is empty. Lines may repeat; those of one prompt are all held out or none, so that " +
			"holding out takes two prompts. The file of these examples has lines such as XIV=14.",
		Broken: `arith 1

task file {
  path      = "roman.txt"
  separator = " is "
}

model.loop { layers = 2 }
`,
		Mended: `arith 1

task file {
  path      = "roman.txt"
  separator = "="
}

model.loop { layers = 2 }
`,
	},
	{
		ID:    "E0327",
		Title: "a stop at held-out problems that there are none of",
		Doc: "stop = accuracy ends training at an exact match of problems that training never sees, unless it says on = train. " +
			"With holdout = 0% there are none, and no exact match of them is reported.",
		Broken: `arith 1

task addition {
  holdout = 0%
}

model.loop { layers = 2 }

train.stop = accuracy(at_least = 99%)
`,
		Mended: `arith 1

task addition {
  holdout = 0%
}

model.loop { layers = 2 }

train.stop = accuracy(at_least = 99%, on = train)
`,
	},
	{
		ID:    "E0328",
		Title: "an axis that is set",
		Doc: "An axis of a sweep says which values an attribute has. What --set says besides would stand for one value or " +
			"for none of them, and the tables would name others.",
		Broken: `arith 1
--set train.seed=5

task successor {}

sweep {
  train.seed = 1..3
}
`,
		Mended: `arith 1
--set sweep.train.seed=5

task successor {}

sweep {
  train.seed = 1..3
}
`,
	},
	{
		ID:    "E0330",
		Title: "a batch that cannot grow from ramp_from",
		Doc:   "While the batch grows, over the share ramp of the budget, it has ramp_from examples at first and batch in the end.",
		Broken: `arith 1

task successor {}

train {
  batch     = 128
  ramp_from = 64
}
`,
		Mended: `arith 1

task successor {}

train {
  batch     = 128
  ramp      = 60%
  ramp_from = 64
}
`,
	},
	{
		ID:    "E0331",
		Title: "epochs of problems that are drawn",
		Doc:   "Only the numbers below a limit are walked, epoch by epoch; problems of so many digits are drawn, each anew.",
		Broken: `arith 1

task addition {
  digits = 1..6
  epochs = same
}
`,
		Mended: `arith 1

task addition {
  below  = 1Mi
  digits = none
  epochs = same
}
`,
	},
	{
		ID:    "E0332",
		Title: "calibrated lines of another width",
		Doc: "The matrices that a calibration leaves in lines.safetensors are of problems of one width, that of extend " +
			"digits. Among problems of another width, in training or in a test, their lines would run beside the digits. A " +
			"stage of the same spec can use the biases at any width. The file of these examples has the matrices of numbers " +
			"padded to 20 places.",
		Broken: `arith 1

task successor {
  digits = 1..6
  pad    = zero(to = 30)
}

eval.digits = [6, 20]
model.decoder.cross.bias = table("lines.safetensors", tensor = "cross")
`,
		Mended: `arith 1

task successor {
  digits = 1..6
  pad    = zero(to = 20)
}

eval.digits = [6, 19]
model.decoder.cross.bias = table("lines.safetensors", tensor = "cross")
`,
	},
}
