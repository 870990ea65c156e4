package diag

// fileCodes are about the files of problems that a task reads.
var fileCodes = []Code{
	{
		ID:    "E0230",
		Title: "a test of tokens that are never read in training",
		Doc: "What a test file of a task has, its file of training must have too, token by token: a model can say nothing " +
			"about a token that it has never seen. The files of these examples have lines such as XIV=14; those of " +
			"hundreds.txt have a C.",
		Broken: `arith 1

task file {
  path = "roman.txt"
  test = "hundreds.txt"
}

model.loop { layers = 2 }
`,
		Mended: `arith 1

task file {
  path = "roman.txt"
  test = "later.txt"
}

model.loop { layers = 2 }
`,
	},
}
