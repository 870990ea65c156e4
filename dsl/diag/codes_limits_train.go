package diag

// trainLimitCodes are about training and evaluation that the language has and
// the compiler has not yet.
var trainLimitCodes = []Code{
	{
		ID:    "E0434",
		Title: "bf16",
		Doc:   "Training is in f32 today.",
		Broken: `arith 1

task successor {}

train.precision = bf16
`,
		Mended: `arith 1

task successor {}

train.precision = f32
`,
	},
	{
		ID:    "E0450",
		Title: "stages",
		Doc:   "A spec trains once today.",
		Broken: `arith 1

task successor {}

stage warm {
  train.batch = 32
}

stage main {
  from = warm
}
`,
		Mended: `arith 1

task successor {}

train.batch = 32
`,
	},
}
