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
}
