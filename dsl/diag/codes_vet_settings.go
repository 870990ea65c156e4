package diag

// settingVetCodes are warnings of settings without effect, or with one that is hardly
// meant.
var settingVetCodes = []Code{
	{
		ID:    "V015",
		Title: "a sweep without axes",
		Doc:   "A sweep makes a training of each value of its axes. Without any there is one training, as without the sweep.",
		Broken: `arith 1

task successor {}

sweep {}
`,
		Mended: `arith 1

task successor {}

sweep {
  train.seed = 1..3
}
`,
	},
	{
		ID:    "V016",
		Title: "a setting that nothing keeps",
		Doc: "Each training of a sweep sets the attribute again, by an axis or in a case, or --set puts another value in the " +
			"place of that of a case. What a spec includes may be meant for others, and is not looked at.",
		Broken: `arith 1

task successor {}

train.batch = 64

sweep {
  train.batch = [128, 256]
}
`,
		Mended: `arith 1

task successor {}

sweep {
  train.batch = [128, 256]
}
`,
	},
	{
		ID:    "V017",
		Title: "a mask or bias that is never used",
		Doc: "No attention site of any training names the block, directly or in another that is used. Blocks of included " +
			"files are not looked at.",
		Broken: `arith 1

task successor {}

bias near { value = -abs(i - j) }
`,
		Mended: `arith 1

task successor {}

bias near { value = -abs(i - j) }

model.decoder.self.bias = near
`,
	},
	{
		ID:    "V018",
		Title: "a number that is hardly meant",
		Doc: "The number is allowed, and so far from those that models learn with that it is likely to be a slip: a learning " +
			"rate of 0.5, scores that are multiplied with 0, nine activations of ten dropped.",
		Broken: `arith 1

task successor {}

train.optimizer = adam(lr = 0.5)
`,
		Mended: `arith 1

task successor {}

train.optimizer = adam(lr = 5e-3)
`,
	},
	{
		ID:    "V019",
		Title: "a prompt with two answers",
		Doc: "Two lines of a task file have one prompt and different answers. A model learns how often it sees each, and a test " +
			"counts it wrong at least once. The file twice.txt of this example has the lines XIV=14 and XIV=15.",
		Broken: `arith 1

task file { path = "twice.txt" }

model.loop { layers = 2 }
`,
		Mended: `arith 1

task file { path = "roman.txt" }

model.loop { layers = 2 }
`,
	},
	{
		ID:    "V020",
		Title: "a line of a task file that comes again",
		Doc: "A problem that stands in a file several times is trained on as often as it stands there, and tested as often. The file " +
			"again.txt of this example has the line XIV=14 two times.",
		Broken: `arith 1

task file { path = "again.txt" }

model.loop { layers = 2 }
`,
		Mended: `arith 1

task file { path = "roman.txt" }

model.loop { layers = 2 }
`,
	},
	{
		ID:    "V021",
		Title: "characters of a task file that nobody sees",
		Doc: "Where tokens are characters, a space at the end of a line is part of the answer, and one beside the separator part of " +
			"what stands there; a tab, a hard space or a character of width 0 is a token of its own. The lines of spaces.txt " +
			"in this example end with a space.",
		Broken: `arith 1

task file { path = "spaces.txt" }

model.loop { layers = 2 }
`,
		Mended: `arith 1

task file { path = "roman.txt" }

model.loop { layers = 2 }
`,
	},
	{
		ID:    "V022",
		Title: "a test that is trained on",
		Doc: "The file of tests has a prompt that the file of problems has, too, so that the test tells of memory, not of what was " +
			"learnt.",
		Broken: `arith 1

task file { path = "roman.txt"  test = "roman.txt" }

model.loop { layers = 2 }
`,
		Mended: `arith 1

task file { path = "roman.txt"  test = "later.txt" }

model.loop { layers = 2 }
`,
	},
	{
		ID:    "V023",
		Title: "a bias that may cease to be finite",
		Doc: "With the values that its learned leaves begin with the bias is finite. With others, near those, it is not, and " +
			"nothing keeps training from them.",
		Broken: `arith 1

task successor {}

bias near {
  w     = learned([H], init = uniform(0, 1))
  value = log(1 + w[h] * abs(i - j))
}

model.decoder.self.bias = near
`,
		Mended: `arith 1

task successor {}

bias near {
  w     = learned([H], init = uniform(0, 1), min = 0)
  value = log(1 + w[h] * abs(i - j))
}

model.decoder.self.bias = near
`,
	},
}
